package report

import (
	"strings"
	"testing"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/diagnostics"
)

// excluded is a report that passes with a rejection and a superseded conflict.
func excluded() *Report {
	r := New()
	r.Complete, r.Source.TopicID = true, "topic"
	r.Rejections = []Rejection{{Partition: 1, Offset: 2, Reason: "null_value", Fingerprint: strings.Repeat("a", 64)}}
	r.Conflicts = []Conflict{{Item: "a", Location: "l", TxnID: "t", Revision: 1, State: Superseded, Payloads: []Payload{
		{Offset: 5, Canonical: "[5]", Fingerprint: diagnostics.PayloadFingerprint("[5]")},
		{Offset: 3, Canonical: "[3]", Fingerprint: diagnostics.PayloadFingerprint("[3]")},
	}}}
	r.Counts.Rejections, r.Counts.SupersededConflicts = 1, 1
	r.Judge()
	return r
}

// TestR24ExpectedDiagnostics: written and read back they are exact and end with success; every other outcome lists what
// differs. The status is never touched.
func TestR24ExpectedDiagnostics(t *testing.T) {
	r := excluded()
	if r.Status != Exclusions || r.ExitCode != exit.Exclusions {
		t.Fatalf("%s, %d", r.Status, r.ExitCode)
	}
	f, err := diagnostics.Parse("f", diagnostics.Render(&diagnostics.File{Name: "f", TopicID: "topic", Entries: r.Diagnostics()}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Expect("f", f); r.Status != Exclusions || r.ExitCode != exit.OK || !r.Expected.Exact {
		t.Fatalf("the exact file: %s, %d, %+v", r.Status, r.ExitCode, r.Expected)
	}
	for name, c := range map[string]struct {
		alter               func(f *diagnostics.File)
		missing, unexpected int
	}{
		"one missing":         {func(f *diagnostics.File) { f.Entries = f.Entries[1:] }, 0, 1},
		"one too many":        {func(f *diagnostics.File) { f.Entries = append(f.Entries, diagnostics.Entry{Partition: 9}) }, 1, 0},
		"wrong fingerprint":   {func(f *diagnostics.File) { f.Entries[2].Fingerprint = strings.Repeat("b", 64) }, 1, 1},
		"ambiguous, not yet":  {func(f *diagnostics.File) { f.Entries[0].Reason = diagnostics.Ambiguous }, 1, 1},
		"another incarnation": {func(f *diagnostics.File) { f.TopicID = "other" }, 0, 0},
	} {
		r, other := excluded(), *f
		other.Entries = append([]diagnostics.Entry{}, f.Entries...)
		c.alter(&other)
		r.Expect("f", &other)
		if e := r.Expected; r.Status != Exclusions || r.ExitCode != exit.Exclusions || e.Exact || len(e.Missing) != c.missing || len(e.Unexpected) != c.unexpected {
			t.Errorf("%s: %s, %d, %+v", name, r.Status, r.ExitCode, e)
		}
	}
	r = excluded() // any incarnation
	f.TopicID = ""
	if r.Expect("f", f); r.ExitCode != exit.OK {
		t.Errorf("%d, %+v", r.ExitCode, r.Expected)
	}
}

// TestR24NoBoundaryNoExpectation: what an incomplete run found is not all there is; nothing is compared, and its exit code
// stays.
func TestR24NoBoundaryNoExpectation(t *testing.T) {
	r := excluded()
	f := &diagnostics.File{Name: "f", Entries: r.Diagnostics()}
	r.Incomplete, r.Complete = []boundary.Reason{{Phase: boundary.PhaseRelay, Reason: "stalled"}}, false
	if r.Expect("f", f); r.Status != Incomplete || r.ExitCode != exit.Incomplete || r.Expected.Exact || r.Expected.Compared || len(r.Expected.Unexpected) != 0 {
		t.Errorf("%s, %d, %+v", r.Status, r.ExitCode, r.Expected)
	}
}

// TestR24EveryFormatListsWhatDiffers: a reader of any format sees which diagnostics are missing and which were not expected,
// and none where they are exact; and what was found of a key in scope.
func TestR24EveryFormatListsWhatDiffers(t *testing.T) {
	r, exact := excluded(), excluded()
	exact.Expect("f", &diagnostics.File{Name: "f", Entries: exact.Diagnostics()})
	entries := append(r.Diagnostics()[:1:1], diagnostics.Entry{Partition: 9, Offset: 77, Reason: "invalid_json"})
	r.Expect("f", &diagnostics.File{Name: "f", Entries: entries})
	if len(r.Expected.Missing) != 1 || len(r.Expected.Unexpected) != 2 {
		t.Fatalf("%+v", r.Expected)
	}
	r.Scope = []ScopedKey{{Item: "scoped", Location: "l"}}
	for _, f := range []Format{FormatText, FormatMarkdown, FormatJUnit, FormatHTML} {
		text := rendered(t, r, f, 0)
		for _, want := range []string{"expected, not found: partition 9 offset 77 invalid", "found, not expected: partition 1 offset 2 null", "scoped/l: not compared"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", f, want, text)
			}
		}
		if strings.Contains(rendered(t, exact, f, 0), "not found: ") {
			t.Errorf("%s lists what differs from an exact file", f)
		}
	}
}

// TestEveryFormatSaysWhyNothingIsExplained: differences without reasons are not left without a word.
func TestEveryFormatSaysWhyNothingIsExplained(t *testing.T) {
	r := drifted(t)
	r.Explanations, r.NotExplained = nil, "the topic went away"
	for _, f := range []Format{FormatText, FormatMarkdown, FormatJUnit, FormatHTML} {
		if text := rendered(t, r, f, 0); !strings.Contains(text, "the topic went away") {
			t.Errorf("%s does not say why:\n%s", f, text)
		}
	}
}
