//go:build figure

package intakeload

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// The size of the measurement.
var (
	measure = flag.Duration("measure", 3*time.Second, "how long each rate is measured, in each round")
	rounds  = flag.Int("rounds", 5, "rounds, each of all rates one after the other")
	levels  = flag.String("levels", "none,stored,published", "levels to measure, separated by commas")
)

// The floors, each more than the one before leaves out.
const (
	floorTransactions = "50 connections, each commits the rows of one request"
	floorGroups       = "the owner store, 50 requests a commit, one connection"
	floorSingle       = "50 connections, each commits one row of 400 bytes"
)

// rates are counts of each measure, by round.
type rates map[string][]float64

// median of a measure.
func (r rates) median(name string) float64 {
	sorted := slices.Sorted(slices.Values(r[name]))
	return sorted[len(sorted)/2]
}

// ratio is the median, over the rounds, of one measure to another of the same round.
func (r rates) ratio(name, to string) float64 {
	of := rates{}
	for i, n := range r[name] {
		of[name] = append(of[name], n/r[to][i])
	}
	return of.median(name)
}

// TestRates measures, in one run on one server, how many requests of 50 clients the intake answers at each level, and three
// floors: what Postgres commits for 50 connections of the rows that one stored request leaves behind, what the owner store
// commits in groups of 50, and plain commits of one row. Rates on a shared machine prove nothing by themselves, so it needs
// a build tag: go test -tags figure ./internal/intakeload -run TestRates -v -args -measure 3s -rounds 5
func TestRates(t *testing.T) {
	broker := kafkatest.StartServer(t)
	b := newBed(t, &broker.Cluster)
	intake := spawn(t, b.plan())
	b.ready()
	all := rates{}
	latency := map[string][]time.Duration{}
	for range *rounds {
		b.floor(t, all, floorTransactions, b.transactions)
		b.floor(t, all, floorGroups, b.groups)
		b.floor(t, all, floorSingle, b.single)
		for level := range strings.SplitSeq(*levels, ",") {
			b.level(t, all, latency, level)
		}
	}
	for level := range strings.SplitSeq(*levels, ",") {
		t.Logf("%s: %.0f a second; p50 %s, p99 %s; medians of %d rounds", level, all.median(level), quantile(latency[level], 50),
			quantile(latency[level], 99), *rounds)
		for _, floor := range []string{floorTransactions, floorGroups, floorSingle} {
			t.Logf("%s: %.2f of %.0f: %s", level, all.ratio(level, floor), all.median(floor), floor)
		}
	}
	intake.Stop()
}

// floor measures one of them.
func (b *bed) floor(t *testing.T, all rates, name string, count func(*testing.T) int64) {
	t.Helper()
	n := count(t)
	all[name] = append(all[name], float64(n)/measure.Seconds())
	t.Logf("%s: %d in %s", name, n, *measure)
}

// level measures the intake at one level, and waits until what it accepted is published.
func (b *bed) level(t *testing.T, all rates, latency map[string][]time.Duration, level string) {
	t.Helper()
	var count int64
	var each []time.Duration
	commits := b.commits(t)
	cores := during(func() { count, each = b.rate(t, level) })
	all[level] = append(all[level], float64(count)/measure.Seconds())
	latency[level] = append(latency[level], each...)
	t.Logf("%s: %d in %s, %d group commits, %d still to be published at the end; cores: %s", level, count, *measure,
		b.commits(t)-commits, b.pending(), cores)
	start := time.Now()
	b.drained()
	t.Logf("%s: published after another %s", level, time.Since(start).Round(time.Millisecond))
}

// commits is how many group commits the intake has done.
func (b *bed) commits(t *testing.T) int64 {
	n, err := strconv.ParseInt(metric(t, b.listen, "amends_intake_group_commits_total"), 10, 64)
	b.must(err)
	return n
}

// parallel is the number of connections and of clients.
const parallel = 50

// everybody runs f in parallel until the time is up, and returns how often it ended and how long each time took.
func everybody(t *testing.T, f func(worker, n int) error) (int64, []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	end := time.Now().Add(*measure)
	for worker := range parallel {
		group.Go(func() {
			var mine []time.Duration
			for n := 0; time.Now().Before(end); n++ {
				start := time.Now()
				if err := f(worker, n); err != nil {
					t.Error(err)
					break
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	group.Wait()
	return int64(len(all)), all
}
