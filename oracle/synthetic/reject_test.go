package synthetic

import (
	"testing"

	"amends.dev/amends/oracle/decode"
)

// TestEveryFault decodes a record before each fault and after it: it is accepted, and then rejected for the reason that the
// typed columns have.
func TestEveryFault(t *testing.T) {
	h, err := New(Config{Rows: 1_000_000, Keys: 100, Days: 80_000, Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	decoder := decode.New(h.Namespace)
	for i := range faults {
		for p := range h.parts {
			f := &faults[i]
			g := newGenerator(h, int32(p))
			g.begin()
			told := g.transaction()
			g.raw(&told, told.revision)
			if f.early {
				told.validTime = Origin - 1
			}
			g.spoil(&told, f)
			raw := &g.run.Raw
			if _, reason := decoder.Decode(int32(p), raw.Key.Value(0), raw.Value.Value(0)); reason != decode.Accepted {
				t.Fatalf("%s is rejected: %s", raw.Value.Value(0), reason)
			}
			if _, reason := decoder.Decode(int32(p), raw.Key.Value(1), raw.Value.Value(1)); reason != f.reason {
				t.Errorf("%s %s is %q, want %q", raw.Key.Value(1), raw.Value.Value(1), reason, f.reason)
			}
		}
	}
}
