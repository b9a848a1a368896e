//go:build figure

package verify_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

var (
	figureRows   = flag.Int("rows", 1_000_000, "balances of the view")
	figureRounds = flag.Int("rounds", 5, "interleaved rounds")
)

// figureKeys is the number of stock keys; each tenth balance comes with an alert.
const figureKeys = 4000

// TestCompareFigure measures the comparison of a verification, of its whole phase, beside COPY … TO of the rows that the view
// shows, read on one connection and counted. Rounds are interleaved, so that ratios hold on a busy machine.
//
//	go test -tags figure -run TestCompareFigure -v ./oracle/verify -rows 1000000
func TestCompareFigure(t *testing.T) {
	w := newWorld(t, func(s *manifests.Spec) { s.StockKeys = figureStock() })
	p := figureProjection(w.ns)
	w.engines = []engine.Engine{known{p}}
	w.fill(p)
	var ratios []float64
	for round := range *figureRounds {
		began := time.Now()
		rows, size := w.copyOut()
		floor := time.Since(began)
		r := w.verify(report.Pass)
		if got := r.Counts.Balances.Equal + r.Counts.Alerts.Equal; got != int64(len(p.Balances)+len(p.Alerts)) || got != rows {
			t.Fatalf("%d equal, %d copied", got, rows)
		}
		compare := time.Duration(r.Timings.Compare) * time.Millisecond
		ratios = append(ratios, floor.Seconds()/compare.Seconds())
		t.Logf("round %d: COPY %.2f s (%d rows, %.0f MB), compare %.2f s, ratio of rates %.2f", round+1, floor.Seconds(), rows, float64(size)/1e6, compare.Seconds(), ratios[round])
	}
	slices.Sort(ratios)
	t.Logf("%d processors: median of the ratios %.2f", runtime.GOMAXPROCS(0), ratios[len(ratios)/2])
}

// figureStock are the keys.
func figureStock() []manifests.StockKey {
	var keys []manifests.StockKey
	for i := range figureKeys {
		keys = append(keys, manifests.StockKey{Item: fmt.Sprintf("item-%04d", i/10), Location: fmt.Sprintf("warehouse-%d", i%10), OpeningBalance: 1000, ReorderThreshold: 400})
	}
	return keys
}

// figureProjection is a result of as many balances as are wanted, on neighbouring days of each key.
func figureProjection(ns *manifests.Namespace) *projection.Projection {
	p := &projection.Projection{}
	each := *figureRows / figureKeys
	for i, k := range ns.Spec.StockKeys {
		p.Statuses = append(p.Statuses, projection.Status{Item: k.Item, Location: k.Location, Status: "READY"})
		for d := range each {
			day := time.Date(2026, 1, 1+d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			closing := int64(i*1_000_003 + d*977)
			p.Balances = append(p.Balances, projection.Balance{Item: k.Item, Location: k.Location, Day: day, Close: closing})
			if d%10 == 3 {
				p.Alerts = append(p.Alerts, projection.Alert{Item: k.Item, Location: k.Location, Day: day, Close: closing, Threshold: 400})
			}
		}
	}
	return p
}

// fill makes the view hold a projection, in an order that is not the one of its keys, as a view's rows are.
func (w *world) fill(p *projection.Projection) {
	w.t.Helper()
	key := map[[2]string]int{}
	for i, k := range w.ns.Spec.StockKeys {
		key[[2]string{k.Item, k.Location}] = i
		w.exec(`INSERT INTO `+viewSchema+`.key_status VALUES ($1, 'READY', '{}', '{}', 1, '')`, i)
	}
	content := []byte(strings.Repeat("x", 32))
	rows := make([][]any, len(p.Balances))
	for i, b := range p.Balances {
		day, _ := time.Parse(time.DateOnly, b.Day)
		rows[i] = []any{key[[2]string{b.Item, b.Location}], day, b.Close, int64(1), true, content}
	}
	w.load("balance", []string{"key_id", "day", "close", "version", "present", "content"}, rows)
	rows = make([][]any, len(p.Alerts))
	for i, a := range p.Alerts {
		day, _ := time.Parse(time.DateOnly, a.Day)
		rows[i] = []any{key[[2]string{a.Item, a.Location}], day, a.Threshold, a.Close, int64(1), true, content}
	}
	w.load("alert", []string{"key_id", "day", "threshold", "close", "version", "present", "content"}, rows)
	w.exec(`VACUUM ANALYZE`)
}

func (w *world) load(table string, columns []string, rows [][]any) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if _, err := w.db.CopyFrom(context.Background(), pgx.Identifier{viewSchema, table}, columns, pgx.CopyFromRows(rows)); err != nil {
		w.t.Fatal(err)
	}
}

// copyOut is the floor: what users read, by COPY, consumed and counted.
func (w *world) copyOut() (rows, size int64) {
	w.t.Helper()
	conn, err := pgx.Connect(context.Background(), w.viewURL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, query := range []string{
		`SELECT item, location, day, close FROM ` + viewSchema + `.balances`,
		`SELECT item, location, day, close, threshold FROM ` + viewSchema + `.alerts`,
	} {
		var out counter
		tag, err := conn.PgConn().CopyTo(context.Background(), &out, `COPY (`+query+`) TO STDOUT`)
		if err != nil {
			w.t.Fatal(err)
		}
		rows, size = rows+tag.RowsAffected(), size+int64(out)
	}
	return rows, size
}

// counter counts bytes.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// known is an engine whose result is known beforehand.
type known struct{ p *projection.Projection }

func (known) Name() string { return "known" }

func (k known) Compute(ctx context.Context, _ *manifests.Namespace, history engine.History) (*projection.Projection, error) {
	for _, err := range history(ctx) {
		if err != nil {
			return nil, err
		}
	}
	return k.p, nil
}
