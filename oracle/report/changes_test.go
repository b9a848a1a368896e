package report

import (
	"strings"
	"testing"
)

// TestCompare: what appeared, vanished, altered and persisted, and the counts behind it; the other way round is the
// mirror image.
func TestCompare(t *testing.T) {
	from, to := drifted(t), drifted(t)
	if c := Compare(from, to); len(c.Counts)+len(c.Appeared)+len(c.Vanished)+len(c.Altered) != 0 || c.Persisting != 6 || !c.Complete {
		t.Fatalf("the same report: %+v", c)
	}
	vanished := to.Differences[0]
	to.Differences = to.Differences[1:]
	fifty := int64(51)
	value := *to.Differences[1].Oracle
	value.Close = &fifty
	to.Differences[1].Oracle = &value
	to.Counts.Differences, to.Counts.Balances.Changed, to.Counts.Balances.Equal = 5, 0, 5
	to.Kept, to.Digest = 8, "cc"
	to.Judge()
	c := Compare(from, to)
	if len(c.Vanished) != 1 || c.Vanished[0].Day != vanished.Day || len(c.Appeared) != 0 || len(c.Altered) != 1 || c.Persisting != 4 || !c.Complete {
		t.Errorf("%+v", c)
	}
	if len(c.Counts) != 3 || c.Counts[0] != (CountChange{"differences", 6, 5}) {
		t.Errorf("counts %+v", c.Counts)
	}
	var b strings.Builder
	if err := ChangesText(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"demo: DRIFT stayed", "verification 7", "verification 8", "unlike namespaces", "differences 6, now 5", "that vanished (1)", "other values (1)", "persist: 4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, b.String())
		}
	}
	back := Compare(to, from)
	if len(back.Appeared) != 1 || len(back.Vanished) != 0 {
		t.Errorf("mirrored: %+v", back)
	}
	pass := reports()["pass"]
	pass.Counts.Differences = 1 // none of it listed
	b.Reset()
	if c = Compare(from, pass); c.Complete || len(c.Vanished) != 6 || ChangesText(&b, c) != nil || !strings.Contains(b.String(), "DRIFT became PASS") || !strings.Contains(b.String(), "entered or left a list") {
		t.Errorf("%+v\n%s", c, b.String())
	}
}

// TestSC25CompareWithNothingCompared: a report without a comparison says of no difference that it appeared or vanished, and
// its counts are no counts; two that were compared are.
func TestSC25CompareWithNothingCompared(t *testing.T) {
	text := func(c Changes) string {
		var b strings.Builder
		if err := ChangesText(&b, c); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	drift := drifted(t)
	if c := Compare(drift, reports()["pass"]); len(c.Vanished) != 6 || len(c.Counts) == 0 || strings.Contains(text(c), "nothing was compared") {
		t.Fatalf("with a comparison: %+v", c)
	}
	for _, name := range []string{"incomplete", "error"} {
		none := reports()[name]
		for _, pair := range [][2]*Report{{drift, none}, {none, drift}, {none, none}} {
			c := Compare(pair[0], pair[1])
			if len(c.Counts)+len(c.Appeared)+len(c.Vanished)+len(c.Altered)+int(c.Persisting) != 0 || c.Complete {
				t.Errorf("%s became %s: %+v", pair[0].Status, pair[1].Status, c)
			}
			if got := text(c); !strings.Contains(got, "nothing was compared in verification") || strings.Contains(got, "persist") || strings.Contains(got, "entered or left") {
				t.Errorf("%s became %s:\n%s", pair[0].Status, pair[1].Status, got)
			}
		}
	}
	if c := Compare(drift, reports()["incomplete"]); !c.From.Compared || c.To.Compared {
		t.Errorf("compared: from %t, to %t", c.From.Compared, c.To.Compared)
	}
}
