package snapshot

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// The random histories of TestEnginesAgree: the short form, unless told otherwise.
var (
	histories = flag.Uint64("histories", 200, "random histories that the engines are compared over")
	firstSeed = flag.Uint64("seed", 1, "seed of the first one")
)

// computed is what the arrow engine makes of a set, with all of its memory given back.
func computed(t oracletest.TB, compute func(arrow.Engine) (*arrow.Result, error)) *projection.Projection {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	r, err := compute(arrow.Engine{Memory: mem})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if n := mem.CurrentAlloc(); n != 0 {
		t.Errorf("%d bytes of Arrow memory leaked", n)
	}
	return r.Projection()
}

// typedOf computes from typed files.
func typedOf(t oracletest.TB, ns *manifests.Namespace, dir string, workers int, bytes int64) *projection.Projection {
	t.Helper()
	return computed(t, func(e arrow.Engine) (*arrow.Result, error) {
		return e.ComputeColumns(context.Background(), ns, open(t, dir).Typed(), arrow.Options{Workers: workers, Memory: bytes})
	})
}

// rawOf computes from raw files, as --from-raw does.
func rawOf(t oracletest.TB, ns *manifests.Namespace, dir string, workers int, bytes int64) *projection.Projection {
	t.Helper()
	source, err := open(t, dir).Raw()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return computed(t, func(e arrow.Engine) (*arrow.Result, error) {
		return e.ComputeRaw(context.Background(), ns, source, arrow.Options{Workers: workers, Memory: bytes})
	})
}

// size is the number of records of a history: mostly so few that a failure can be read; some fill several blocks and
// chunks of rows, and a few several buckets, so that a bound of memory makes several passes.
func size(r *rand.Rand, seed uint64) int {
	switch {
	case seed%512 == 17:
		return 40_000
	case seed%16 == 3:
		return 500 + r.IntN(3000)
	}
	return r.IntN(80)
}

// TestEnginesAgree compares, over random histories from seeds, what the arrow engine makes of records, of typed files and
// of raw ones, with 1, 2 and 8 workers, within memory and in passes, in files of any layout, with the reference engine.
// Every anomaly must occur. `go test -run TestEnginesAgree -timeout 1h ./vectorized/snapshot -histories 10000` is the long form.
func TestEnginesAgree(t *testing.T) {
	dir, saw := t.TempDir(), oracletest.Anomalies{}
	var records int
	for seed := *firstSeed; seed < *firstSeed+*histories; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		c := oracletest.Mixed(t, seed, size(r, seed))
		want := oracletest.Compute(t, reference.Engine{}, c.Namespace, c.Records)
		saw.See(c, want)
		records += len(c.Records)
		agree(t, r, seed, filepath.Join(dir, fmt.Sprint(seed)), c, want)
		if t.Failed() {
			t.Fatalf("seed %d, %d records", seed, len(c.Records))
		}
	}
	t.Logf("%d histories from seed %d, %d records", *histories, *firstSeed, records)
	for _, kind := range slices.Sorted(maps.Keys(saw)) {
		t.Logf("%9d %s", saw[kind], kind)
	}
	if missing := saw.Missing(); len(missing) > 0 && *histories >= 200 {
		t.Errorf("did not occur: %q", missing)
	}
}

// agree compares one history.
func agree(t *testing.T, r *rand.Rand, seed uint64, dir string, c oracletest.Case, want *projection.Projection) {
	t.Helper()
	check := func(what string, got *projection.Projection) {
		t.Helper()
		oracletest.Equal(t, fmt.Sprintf("seed %d, %s", seed, what), got, want)
	}
	workers := []int{1, 2, 8}
	r.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
	check("records", computed(t, func(e arrow.Engine) (*arrow.Result, error) {
		return e.ComputeRecords(t.Context(), c.Namespace, oracletest.Of(c.Records), arrow.Options{Workers: workers[0]})
	}))
	limit := limits{groupRows: []int{1, 2, 7, 64, 600}[r.IntN(5)], groupBytes: 1 << 20, fileGroups: []int{1, 2, 16}[r.IntN(3)]}
	if len(c.Records) > 200 {
		limit.groupRows = 100 + r.IntN(2000)
	}
	s := export(t, limit, dir, c.Namespace, c.Records)
	for i, n := range workers {
		check("typed", typedOf(t, c.Namespace, dir, n, int64(i%2)))
	}
	check("raw", rawOf(t, c.Namespace, dir, workers[1], int64(r.IntN(2))))
	if len(c.Records) > 10_000 {
		return
	}
	l := anyLayout(r)
	if len(c.Records) > 200 {
		l.page, l.group = max(l.page, 300), max(l.group, 100)
	}
	kind := []string{KindTyped, KindRaw}[r.IntN(2)]
	relay(t, s, kind, l)
	if kind == KindTyped {
		check(l.String(), typedOf(t, c.Namespace, dir, workers[2], int64(r.IntN(2))))
	} else {
		check(l.String(), rawOf(t, c.Namespace, dir, workers[2], int64(r.IntN(2))))
	}
}
