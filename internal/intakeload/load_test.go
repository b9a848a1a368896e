package intakeload

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"amends.dev/amends/internal/submission"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/owner/drain"
)

// The size of the load: the short form by default.
var (
	clients  = flag.Int("clients", 20, "concurrent clients")
	requests = flag.Int("requests", 50, "requests of each client")
)

// transaction is the nth of a client: each one new, on one of four keys.
func transaction(client, n int) json.RawMessage {
	keys := []string{`"widget","location":"berlin"`, `"gadget","location":"berlin"`, `"hose","location":"paris"`, `"valve","location":"rome"`}
	day := 1 + (client+n)%28
	return fmt.Appendf(nil, `{"txn_id":"c%d-%d","stock_key":{"item":%s},"revision":1,"kind":"NEW","valid_time":"2026-01-%02dT10:00:00Z",`+
		`"qty":%d,"source_time":"2026-01-%02dT10:00:00Z"}`, client, n, keys[(client+n)%len(keys)], day, n%7-3, day)
}

// load is what the clients saw.
type load struct {
	mu        sync.Mutex
	accepted  map[string]json.RawMessage
	duplicate int
	lost      int
	found     int
	retried   int
	latency   map[string][]time.Duration
	done      atomic.Int64
	faults    []*fault
}

// fault is something that happens once so many requests in a hundred are done. No client gets further than fifteen more
// before it has, so that it strikes in the middle of the load.
type fault struct {
	percent int64
	due     chan struct{}
	struck  chan struct{}
}

// newLoad is a load with faults at the given points.
func newLoad(points ...int64) *load {
	l := &load{accepted: map[string]json.RawMessage{}, latency: map[string][]time.Duration{}}
	for _, percent := range points {
		l.faults = append(l.faults, &fault{percent: percent, due: make(chan struct{}), struck: make(chan struct{})})
	}
	return l
}

// finished counts a request, and makes the fault due whose point that is.
func (l *load) finished() {
	done := l.done.Add(1)
	for _, f := range l.faults {
		if done == int64(*clients)*int64(*requests)*f.percent/100 {
			close(f.due)
		}
	}
}

// pause waits before the nth request of a client for the fault that has to strike first.
func (l *load) pause(t *testing.T, n int) {
	for _, f := range l.faults {
		if int64(n)*100 >= int64(*requests)*(f.percent+15) {
			select {
			case <-f.struck:
			case <-t.Context().Done():
			}
		}
	}
}

// strike waits until a fault is due and lets it happen.
func (l *load) strike(t *testing.T, n int, happen func()) {
	t.Helper()
	select {
	case <-l.faults[n].due:
	case <-time.After(10 * patience):
		t.Fatalf("fault %d never came due", n)
	}
	happen()
	close(l.faults[n].struck)
}

// client sends its requests, one after the other, and every tenth a second time with other content.
func (l *load) client(t *testing.T, c *submission.Client, number int) {
	random := rand.New(rand.NewPCG(1, uint64(number)))
	for n := range *requests {
		l.pause(t, n)
		id := fmt.Sprintf("client %d/request %d", number, n)
		level := []string{"stored", "published"}[random.IntN(2)]
		start := time.Now()
		a, err := c.Send(t.Context(), submission.Request{ID: id, Transaction: transaction(number, n), Level: level, MustHave: true})
		if err != nil || !a.Performed() || a.Applied != "stored" && a.Applied != "published" {
			t.Errorf("%s: %+v, %v", id, a, err)
			return
		}
		l.mu.Lock()
		l.accepted[id] = transaction(number, n)
		l.lost, l.retried = l.lost+a.Lost, l.retried+a.Retried
		if a.Found {
			l.found++
		}
		l.latency[level] = append(l.latency[level], time.Since(start))
		l.mu.Unlock()
		l.finished()
		if n%10 != 9 {
			continue
		}
		again, err := c.Send(t.Context(), submission.Request{ID: id, Transaction: transaction(number, n+1_000_000), Level: level, MustHave: true})
		if err != nil || again.Status != 409 || again.Reason != "duplicate_request_id" {
			t.Errorf("duplicate %s: %+v, %v", id, again, err)
		}
		l.mu.Lock()
		l.duplicate++
		l.mu.Unlock()
	}
}

// TestLoadAndFaults: many clients at a time, of whose requests a tenth is sent twice, while Postgres, the broker and the
// intake are each killed once. After the drain everything that was answered with 200 or 202 is in the source topic, every
// copy byte for byte the same (R34); every duplicate was 409; lost answers were found at their handles; verify says PASS.
// The full run: go test ./internal/intakeload -run TestLoadAndFaults -v -timeout 60m -args -clients 50 -requests 2000
func TestLoadAndFaults(t *testing.T) {
	t.Parallel()
	broker := kafkatest.StartServer(t)
	b := newBed(t, &broker.Cluster)
	intake := spawn(t, b.plan())
	b.ready()
	l := newLoad(20, 45, 70)
	c := b.client(*clients)
	network := &lossy{inner: c.HTTP.Transport, every: 50}
	c.HTTP.Transport = network
	start := time.Now()
	var group sync.WaitGroup
	for number := range *clients {
		group.Go(func() { l.client(t, c, number) })
	}
	l.strike(t, 0, func() { pg.Kill(t, b.dir) })
	b.startPostgres()
	l.strike(t, 1, func() { broker.Kill(t) })
	broker.Restart(t)
	l.strike(t, 2, intake.Kill)
	intake = spawn(t, b.plan())
	group.Wait()
	took := time.Since(start)
	b.drained()
	intake.Stop()
	extra := b.check(l)
	if network.lost.Load() == 0 || l.found == 0 {
		t.Errorf("%d answers lost on the way and %d found: lost answers were not tested", network.lost.Load(), l.found)
	}
	b.verify()
	t.Logf("%d requests of %d clients in %s with three kills; %d duplicates answered 409; %d exchanges without an answer, %d requests found at their handles; %d times told to come again; %d extra copies in the topic, byte for byte the same",
		len(l.accepted), *clients, took.Round(time.Millisecond), l.duplicate, l.lost, l.found, l.retried, extra)
	for _, level := range []string{"stored", "published"} {
		t.Logf("%s: p50 %s, p99 %s", level, quantile(l.latency[level], 50), quantile(l.latency[level], 99))
	}
}

// check holds the topic and the store to what the clients saw, and counts extra copies.
func (b *bed) check(l *load) (extra int) {
	b.t.Helper()
	copies := map[string][][]byte{}
	for _, r := range b.records() {
		if len(r.Headers) != 1 || r.Headers[0].Key != drain.EffectHeader {
			b.t.Errorf("record %d/%d without its effect's identity", r.Partition, r.Offset)
			continue
		}
		effect := string(r.Headers[0].Value)
		copies[effect] = append(copies[effect], slices.Concat(r.Key, []byte{0}, r.Value))
	}
	inTopic := map[string]int{}
	for effect, all := range copies {
		for _, one := range all[1:] {
			extra++
			if !bytes.Equal(one, all[0]) {
				b.t.Errorf("copies of %s differ", effect)
			}
		}
		_, value, _ := bytes.Cut(all[0], []byte{0})
		inTopic[string(value)]++
	}
	for id, transaction := range l.accepted {
		if inTopic[string(transaction)] != 1 {
			b.t.Errorf("%s was accepted and is in the topic %d times", id, inTopic[string(transaction)])
		}
	}
	if len(inTopic) != len(l.accepted) {
		b.t.Errorf("%d transactions in the topic, %d accepted", len(inTopic), len(l.accepted))
	}
	if kept := b.number(`SELECT count(*) FROM amends_load.owner WHERE starts_with(owner_id, 'intake/')`); kept != int64(len(l.accepted)) {
		b.t.Errorf("%d entries kept, %d accepted", kept, len(l.accepted))
	}
	return extra
}

// quantile is that of durations, in percent.
func quantile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}
