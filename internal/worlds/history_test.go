package worlds

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// event is one record before it is given a partition and an offset.
type event struct {
	// key is the stock key to whose partition it goes, or beside it where it is misrouted.
	key       int32
	misrouted bool
	// control is a marker before the record, gap the offsets before it that nobody sees.
	control bool
	gap     int64
	// brokerKey and value are the raw bytes, nil for null.
	brokerKey, value []byte
}

// history is a random namespace with random records. It is a function of its seed.
type history struct {
	seed   uint64
	ns     *manifests.Namespace
	events []event
	// wild histories may leave the domain of int64 closes (R09); no order of the others does.
	wild bool
}

// topicID is the source topic in all histories.
const topicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// under returns the namespace with another partition count.
func (h *history) under(partitions int32) *manifests.Namespace {
	spec := h.ns.Spec
	spec.Source.Partitions = partitions
	ns, err := manifests.New(h.ns.Name, spec)
	if err != nil {
		panic(fmt.Sprintf("history %d: %v", h.seed, err)) // the generator's mistake
	}
	return ns
}

// partitionOf is where an event goes under a configuration.
func (e *event) partitionOf(cfg *ledger.Config) int32 {
	p := cfg.SourcePartition(e.key)
	if e.misrouted {
		p = (p + 1) % cfg.Namespace().Spec.Source.Partitions
	}
	return p
}

// place gives every event its coordinates, as workertest's log would.
func place(cfg *ledger.Config, events []event) []ledger.Record {
	next := make([]int64, cfg.Namespace().Spec.Source.Partitions)
	records := make([]ledger.Record, 0, len(events))
	for i := range events {
		e := &events[i]
		p := e.partitionOf(cfg)
		next[p] += e.gap
		if e.control {
			next[p]++
		}
		records = append(records, ledger.Record{Partition: p, Offset: next[p], Key: e.brokerKey, Value: e.value})
		next[p]++
	}
	return records
}

// awkward are names that encoders, sorters and separators get wrong.
var awkward = []string{"a", "A", "a-b", "007", `q"uote`, "<b>&", "é", "e\u0301", "\u2028", "x\x01", "\U0001F600", "b\\", "ab", `","`, `],"payload":`}

// generator draws one history.
type generator struct {
	*rand.Rand
	h   *history
	cfg *ledger.Config
	// budget is by how much the quantities of a key may still grow without any close leaving int64, in any order.
	budget []int64
	days   []int64
	sent   [][]transaction
}

// newHistory draws the history of a seed.
func newHistory(seed uint64) *history {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 20260101)), h: &history{seed: seed}}
	g.h.wild = g.IntN(8) == 0
	g.drawNamespace()
	for range 1 + g.IntN(45) {
		g.drawEvent()
	}
	return g.h
}

// drawNamespace draws stock keys, partitions, origin and the days that the history is about.
func (g *generator) drawNamespace() {
	openings := []int64{0, 100, 60, 59, -5, math.MaxInt64 - 2000, math.MinInt64 + 2001}
	const day = 86_400_000_000_000
	epoch := pick[int64](g, 0, 0, 1767225600_000000000, math.MinInt64/day*day, (math.MaxInt64/day-8)*day)
	spec := manifests.Spec{
		LedgerOrigin: pick[int64](g, math.MinInt64, math.MinInt64, min(epoch, -12*day), epoch, epoch+day+7),
		Source:       manifests.Source{Topic: "w.in", Partitions: 1 + g.Int32N(4), MaxRecordBytes: 900},
		Output:       manifests.Output{Topic: "w.out", Partitions: 2},
	}
	for _, i := range g.Perm(len(awkward))[:1+g.IntN(4)] {
		opening := pick(g, openings...)
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{
			Item: awkward[i], Location: awkward[g.IntN(4)], OpeningBalance: opening,
			ReorderThreshold: pick(g, opening, opening, opening-30, opening-30, opening-60, 60, 0, math.MinInt64, math.MaxInt64),
		})
	}
	ns, err := manifests.New("worlds", spec)
	if err != nil {
		panic(fmt.Sprintf("history %d: %v", g.h.seed, err)) // the generator's mistake
	}
	g.h.ns, g.cfg = ns, ledger.NewConfig(ns, topicID)
	for _, k := range ns.Spec.StockKeys {
		g.budget = append(g.budget, math.MaxInt64-max(k.OpeningBalance, -k.OpeningBalance)-1)
	}
	g.sent = make([][]transaction, len(ns.Spec.StockKeys))
	for _, d := range []int64{0, 1, 2, 3, 7} {
		g.days = append(g.days, epoch+d*day)
	}
	if g.IntN(4) == 0 {
		g.days = append(g.days, -day, math.MinInt64, math.MaxInt64-day+1)
	}
}

// pick draws one of some values.
func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// transaction is what a good record says.
type transaction struct {
	txnID     string
	revision  int64
	kind      string
	validTime int64
	qty       int64
}

// drawTransaction draws a new revision, an exact duplicate, or another payload at a revision that was seen.
func (g *generator) drawTransaction(key int32) transaction {
	seen := g.sent[key]
	if len(seen) > 0 && g.IntN(100) < 20 {
		return pick(g, seen...)
	}
	x := transaction{
		txnID:    pick(g, "t1", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t10", "T-1", "é\"", "x\x011"),
		revision: pick[int64](g, 1, 1, 2, 3, 4, 5, 6, math.MaxInt64),
		kind:     pick(g, "NEW", "NEW", "AMEND", "AMEND", "CANCEL"),
		qty:      g.Int64N(121) - 70,
	}
	start := pick(g, g.days...)
	within := pick(g, 0, 0, 86_399_999_999_999, g.Int64N(86_400_000_000_000))
	if x.validTime = start + within; x.validTime < start { // past the last instant
		x.validTime = math.MaxInt64
	}
	if len(seen) > 0 && g.IntN(100) < 35 {
		old := pick(g, seen...)
		switch g.IntN(18) {
		case 0:
			old.qty = x.qty
		case 1:
			old.kind = x.kind
		case 2:
			old.validTime = x.validTime
		default: // the next revision, complete: it may resolve a conflict
			x.txnID, x.revision = old.txnID, old.revision
			if old.revision < math.MaxInt64 {
				x.revision++
			}
			old = x
		}
		x = old
	}
	switch g.IntN(25) {
	case 0:
		x.qty = 0
	case 1:
		x.qty = pick(g, g.budget[key]/2, -g.budget[key]/2)
	case 2, 3:
		if g.h.wild {
			x.qty = pick[int64](g, math.MaxInt64, math.MinInt64, math.MaxInt64/2, math.MinInt64/2)
		}
	}
	if x.kind == "CANCEL" {
		x.qty = 0
	}
	return x
}

// spend takes a quantity off a key's budget; false where it does not fit. Wild histories have no budget.
func (g *generator) spend(key int32, qty int64) bool {
	if g.h.wild {
		return true
	}
	if qty == math.MinInt64 || max(qty, -qty) > g.budget[key] {
		return false
	}
	g.budget[key] -= max(qty, -qty)
	return true
}

// drawEvent appends one record, good or hostile. One that would leave the domain is left out.
func (g *generator) drawEvent() {
	key := g.Int32N(int32(len(g.h.ns.Spec.StockKeys)))
	x := g.drawTransaction(key)
	e := event{key: key, brokerKey: g.cfg.BrokerKey(key), value: g.spell(key, x), control: g.IntN(20) == 0}
	if g.IntN(12) == 0 {
		e.gap = 1 + g.Int64N(3)
	}
	damaged := g.IntN(7) == 0
	if damaged {
		g.damage(&e)
	}
	tx, reason := g.cfg.Decode(ledger.Record{Partition: e.partitionOf(g.cfg), Key: e.brokerKey, Value: e.value})
	if reason == ledger.ReasonNone && !g.spend(key, tx.Payload.Qty) {
		return
	}
	if !damaged {
		g.sent[key] = append(g.sent[key], x)
	}
	g.h.events = append(g.h.events, e)
}

// spell writes a record with its members in any order, with white space, escapes, any offset and any source time.
func (g *generator) spell(key int32, x transaction) []byte {
	k := g.cfg.StockKey(key)
	stock := []string{`"item":` + g.quote(k.Item), `"location":` + g.quote(k.Location)}
	members := []string{
		`"txn_id":` + g.quote(x.txnID), `"kind":` + g.quote(x.kind), fmt.Sprintf(`"revision":%d`, x.revision), fmt.Sprintf(`"qty":%d`, x.qty),
		`"valid_time":` + g.quote(g.instant(x.validTime)), `"source_time":` + g.quote(g.instant(pick(g, g.days...))),
		`"stock_key":{` + strings.Join(shuffled(g, stock), ",") + "}",
	}
	return []byte("{" + strings.Join(shuffled(g, members), pick(g, ",", ",", ", ", " ,\n\t")) + "}")
}

// shuffled returns a list in another order.
func shuffled[T any](g *generator, list []T) []T {
	list = slices.Clone(list)
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// instant spells nanoseconds since the epoch in some offset.
func (g *generator) instant(nanos int64) string {
	minutes := pick(g, 0, 0, 0, 330, -300, 1439, -1439)
	return time.Unix(0, nanos).In(time.FixedZone("", minutes*60)).Format(time.RFC3339Nano)
}

// quote spells a JSON string, sometimes with every character escaped.
func (g *generator) quote(s string) string {
	if g.IntN(10) > 0 {
		return quoted(s)
	}
	var b strings.Builder
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

// fragments are pieces that damage puts into a record.
var fragments = []string{
	`"`, `\`, `\u0000`, `\ud800`, "{", "}", "[", "]", ",", ":", "null", "true", "0", "-", "1", "e5", ".5", `"x":1,`, `"qty":1,`, `"Qty":1,`, "\xff", "\xef\xbb\xbf",
	" ", "\n", "\f", "\x00", "9223372036854775808", "T24:00:00Z", "+24:00", ":60", ".1234567891",
}

// damage makes a record hostile.
func (g *generator) damage(e *event) {
	switch g.IntN(12) {
	case 0:
		e.value = nil
	case 1:
		e.value = []byte{}
	case 2:
		e.brokerKey = nil
	case 3:
		e.brokerKey = g.mutated(e.brokerKey)
	case 4, 5:
		e.misrouted = g.h.ns.Spec.Source.Partitions > 1
	case 6:
		e.value = append(bytes.Repeat([]byte(" "), 900), e.value...)
	case 7:
		e.value = bytes.Replace(e.value, []byte("qty"), []byte(pick(g, "Qty", "quantity", `\u0071ty`)), 1)
	default:
		e.value = g.mutated(e.value)
	}
}

// mutated changes bytes in one to three places.
func (g *generator) mutated(data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(data) + 1)
		end := min(len(data), at+g.IntN(12))
		switch g.IntN(6) {
		case 0:
			data = slices.Delete(data, at, end)
		case 1:
			data = slices.Insert(data, at, slices.Clone(data[at:end])...)
		case 2:
			if at < len(data) {
				data[at] ^= 1 << g.IntN(8)
			}
		case 3:
			data = data[:at]
		case 4:
			if i := bytes.IndexAny(data[at:], "0123456789"); i >= 0 {
				data[at+i] = '0' + byte(g.IntN(10))
			}
		default:
			data = slices.Insert(data, at, []byte(pick(g, fragments...))...)
		}
	}
	return data
}

// String is the history as a person needs it to repeat it by hand.
func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d partitions, origin %d\n", h.seed, h.ns.Spec.Source.Partitions, h.ns.Spec.LedgerOrigin)
	for i, k := range h.ns.Spec.StockKeys {
		fmt.Fprintf(&b, "key %d: %+q\n", i, fmt.Sprintf("%+v", k))
	}
	for i := range h.events {
		e := &h.events[i]
		fmt.Fprintf(&b, "key %d misrouted %v control %v gap %d: %q %q\n", e.key, e.misrouted, e.control, e.gap, e.brokerKey, e.value)
	}
	return b.String()
}

// shortened leaves out records for as long as the history still fails.
func (h *history) shortened(fails func(*history) error) *history {
	for size := len(h.events) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(h.events); {
			shorter := *h
			shorter.events = slices.Delete(slices.Clone(h.events), at, at+size)
			if fails(&shorter) != nil {
				h = &shorter
			} else {
				at += size
			}
		}
	}
	return h
}
