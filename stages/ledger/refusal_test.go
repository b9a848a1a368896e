package ledger_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"amends.dev/amends/stages/ledger"
)

// TestR15OpenDropsWhatIsNotItsOwn: entries belong to an epoch and a frontier, and one of the two is not enough: another
// owner may have come and gone without progress, and an own commit of unknown outcome moves the frontier alone.
func TestR15OpenDropsWhatIsNotItsOwn(t *testing.T) {
	for _, c := range []struct {
		name            string
		epoch, frontier int64
		kept            bool
	}{
		{"the undamaged twin", 1, 1, true},
		{"another epoch", 2, 1, false},
		{"another frontier", 1, 2, false},
	} {
		var h history
		h.add("a", 1, ledger.KindNew, 1, 1)
		s := newShell(t, config(keyA), 100)
		if err := s.run(h.steps, 1); err != nil {
			t.Fatal(err)
		}
		s.cache.Open(c.epoch, c.frontier)
		if kept := s.cache.Used() > 0; kept != c.kept {
			t.Errorf("%s: kept %v", c.name, kept)
		}
	}
}

// TestR10RefusedResolutionKeepsTheReasons: a key is blocked, and its resolution overflows in the same unit of work: what
// is committed still says why the key is blocked.
func TestR10RefusedResolutionKeepsTheReasons(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 0)
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("b", 1, ledger.KindNew, 2, math.MaxInt64)
	h.add("a", 2, ledger.KindNew, 3, 0)
	s := newShell(t, config(keyA), 1000)
	var overflow *ledger.OverflowError
	if err := s.run(h.steps, 10); !errors.As(err, &overflow) || overflow.Offset != 3 {
		t.Fatalf("want a stop at the resolving record, got %v", err)
	}
	want := []ledger.ConflictRef{{TxnID: "a", Revision: 1}}
	if got := s.keys[0].Conflicts; !slices.Equal(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
}
