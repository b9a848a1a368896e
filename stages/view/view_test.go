package view_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

func TestMemoryStore(t *testing.T) { viewtest.Suite(t, viewtest.Memory) }

// TestR18BatchBoundariesChangeNothing delivers one random stream, with duplicates, lower versions and now and then a
// second content, in fetches of two different sizes: rows, counters, position and violation are the same.
func TestR18BatchBoundariesChangeNothing(t *testing.T) {
	namespace := viewtest.Namespace()
	key := viewtest.KeyOf(namespace, 1)
	days := []string{"2026-01-01", "2026-01-02"}
	message := rapid.Custom(func(t *rapid.T) broker.Message {
		day, version := rapid.SampledFrom(days).Draw(t, "day"), rapid.Int64Range(1, 6).Draw(t, "version")
		closing := version * 10
		if rapid.IntRange(0, 20).Draw(t, "corrupt") == 0 {
			closing++
		}
		switch {
		case version%3 == 0:
			return key.NoBalance(day, version)
		case rapid.Bool().Draw(t, "alert"):
			return key.Alert(day, version, closing, 60)
		default:
			return key.Balance(day, version, closing)
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		messages := rapid.SliceOfN(message, 1, 40).Draw(rt, "messages")
		run := func(maxRecords int) viewtest.State {
			log := viewtest.NewLog()
			log.Publish(t.Context(), messages)
			memory := viewtest.Memory(t, namespace)
			v := view.New(view.Options{
				Config: view.NewConfig(namespace), Partition: 0, Store: memory.Store, Opener: log,
				Now: time.Now, MaxRecords: maxRecords,
			})
			for range len(messages) + 1 {
				if progress, _, err := v.Step(t.Context()); err != nil || !progress {
					break
				}
			}
			return memory.Inspect(t)
		}
		one := run(1)
		for _, size := range []int{2, 7, 100} {
			if diff := cmp.Diff(one, run(size)); diff != "" {
				rt.Fatalf("fetches of %d end elsewhere than fetches of 1 (-1 +%d):\n%s", size, size, diff)
			}
		}
	})
}

func TestJudge(t *testing.T) {
	a, b := view.Content{1}, view.Content{2}
	none := view.Guard{}
	for _, tc := range []struct {
		name             string
		stored, incoming view.Guard
		want             view.Verdict
	}{
		{"first", none, view.Guard{Version: 1, Content: a}, view.Apply},
		{"gap", view.Guard{Version: 1, Content: a}, view.Guard{Version: 5, Content: b}, view.Apply},
		{"duplicate", view.Guard{Version: 2, Content: a}, view.Guard{Version: 2, Content: a}, view.Duplicate},
		{"lower, equal content", view.Guard{Version: 2, Content: a}, view.Guard{Version: 1, Content: a}, view.Stale},
		{"lower, other content", view.Guard{Version: 2, Content: a}, view.Guard{Version: 1, Content: b}, view.Stale},
		{"SC17", view.Guard{Version: 2, Content: a}, view.Guard{Version: 2, Content: b}, view.Violation},
	} {
		if got := view.Judge(tc.stored, tc.incoming); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestFoldKeepsTheHighestVersion compares Fold with the rule written down plainly: the envelope with the highest
// version wins, whatever the order.
func TestFoldKeepsTheHighestVersion(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		highest := map[view.ID]int64{}
		var envelopes []view.Envelope
		for range 30 {
			e := view.Envelope{ID: view.ID{Family: view.FamilyBalance, Day: random.Int32N(3)}, Version: 1 + random.Int64N(9)}
			e.Content[0] = byte(e.Version)
			highest[e.ID] = max(highest[e.ID], e.Version)
			envelopes = append(envelopes, e)
		}
		folded := view.Fold(nil, envelopes)
		if folded.Problem != nil || len(folded.Rows) != len(highest) || folded.Applied+folded.Ignored != 30 {
			t.Fatalf("seed %d: %+v", seed, folded)
		}
		for _, row := range folded.Rows {
			if row.Version != highest[row.ID] {
				t.Errorf("seed %d: %v at version %d, want %d", seed, row.ID, row.Version, highest[row.ID])
			}
		}
	}
}
