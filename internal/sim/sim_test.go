package sim

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeds is how many seeds every run of the tests takes.
func seeds() uint64 {
	if raceDetector {
		return 60
	}
	return 700
}

// finding fails the test with a finding, shortened.
func finding(t *testing.T, r *Result) {
	t.Helper()
	t.Errorf("seed %d: %s: %s", r.Seed, r.Failure.Checker, r.Failure.Detail)
	short, err := Shorten(t.Context(), r.Seed)
	if err != nil || short == nil {
		t.Fatalf("not shortened: %v", err)
	}
	t.Log("add the seed to testdata/seeds.txt; shortened:\n" + strings.Join(short.Result.Trace, "\n"))
}

// TestSeeds: no checker finds anything within the first seeds, and the seeds are worth running: every verdict is
// deserved and reached, every fault strikes, and the rare places of the stages are passed.
func TestSeeds(t *testing.T) {
	if !raceDetector {
		mark.Expect(t, "S8 owner fenced", "R16 assignment not newer", "R16 superseded before installation",
			"SC18 unknown commit was done", "SC18 unknown commit was not done", "R09 record cannot be decided",
			"R17 mark refused", "R17 lease too short to send", "S4 key has to be loaded completely",
			"B043 large output ends the unit of work", "sim.1 action without effect")
	}
	verdicts, struck := map[report.Status]int{}, map[string]int{}
	began, steps := time.Now(), 0
	err := Sweep(t.Context(), 1, seeds(), func(r *Result) bool {
		verdicts[r.Verdict]++
		steps += r.Steps
		for name, n := range r.Struck {
			struck[name] += n
		}
		if r.Failure != nil {
			finding(t, r)
		}
		return r.Failure == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d seeds, %d steps in %v: %v; %v", seeds(), steps, time.Since(began).Round(time.Millisecond), verdicts, struck)
	for _, status := range []report.Status{report.Pass, report.Exclusions, report.Blocked, report.Error} {
		if verdicts[status] == 0 {
			t.Errorf("no seed deserves %s", status)
		}
	}
	for m := failed; m <= broken; m++ {
		if struck[m.String()] == 0 {
			t.Errorf("no fault %q struck", m)
		}
	}
}

// TestKeptSeeds: seeds that once found something find nothing any more.
func TestKeptSeeds(t *testing.T) {
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failure != nil {
			finding(t, r)
		}
	}
}

// TestReplay: a seed gives the same trace each time, and other seeds give others.
func TestReplay(t *testing.T) {
	digests := map[string]uint64{}
	for seed := uint64(1); seed <= 20; seed++ {
		first, err := Run(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Run(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		if first.Digest != second.Digest || !slices.Equal(first.Trace, second.Trace) {
			t.Errorf("seed %d: two runs, digests %s and %s", seed, first.Digest, second.Digest)
		}
		if other, ok := digests[first.Digest]; ok {
			t.Errorf("seeds %d and %d have the same trace", other, seed)
		}
		digests[first.Digest] = seed
	}
}

// TestSweepEnds: a sweep ends with its context, and where it is told to.
func TestSweepEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := Sweep(ctx, 1, 1_000_000, func(*Result) bool {
		if seen++; seen == 3 {
			cancel()
		}
		return true
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v after %d seeds", err, seen)
	}
	var order []uint64
	err = Sweep(t.Context(), 7, 1_000_000, func(r *Result) bool {
		order = append(order, r.Seed)
		return len(order) < 5
	})
	if err != nil || !slices.Equal(order, []uint64{7, 8, 9, 10, 11}) {
		t.Errorf("told to end: %v, seeds %v", err, order)
	}
}

// TestShortenNothing: a seed that fails nowhere has nothing to shorten.
func TestShortenNothing(t *testing.T) {
	if short, err := Shorten(t.Context(), 1); short != nil || err != nil {
		t.Errorf("got %v, %v", short, err)
	}
}
