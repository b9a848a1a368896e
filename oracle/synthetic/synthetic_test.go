package synthetic_test

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized/snapshot"
)

// TestRawAndTypedAgree computes a synthetic history from its typed columns, from its raw records, and row by row: each
// record was rendered as it was told, and none is rejected.
func TestRawAndTypedAgree(t *testing.T) {
	h, err := synthetic.New(synthetic.Config{Rows: 20_000, Keys: 200, Skew: 110, Partitions: 3, Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "set")
	if err := h.Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := arrow.Engine{}.ComputeColumns(t.Context(), h.Namespace, s.Typed(), arrow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	source, err := s.Raw()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := arrow.Engine{}.ComputeRaw(t.Context(), h.Namespace, source, arrow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := engine.Engine(reference.Engine{}).Compute(t.Context(), h.Namespace, s.History())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(judged, typed.Projection()); diff != "" {
		t.Errorf("typed:\n%s", diff)
	}
	if diff := cmp.Diff(judged, raw.Projection()); diff != "" {
		t.Errorf("raw:\n%s", diff)
	}
	sum := typed.Checksum()
	if sum.Records != 20_000 || sum.Duplicates == 0 || sum.LowerConflicts == 0 || sum.Alerts == 0 || len(judged.Rejections) > 0 {
		t.Errorf("a history of another shape: %+v, %d rejections", sum, len(judged.Rejections))
	}
}

// TestSameSeedSameFiles writes one history twice: every file has the same digest. Another seed makes another history.
func TestSameSeedSameFiles(t *testing.T) {
	digest := func(c synthetic.Config) string {
		h, err := synthetic.New(c)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "set")
		if err := h.Write(dir); err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		for _, f := range s.Files() {
			sum.Write([]byte(f.SHA256))
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	c := synthetic.Config{Rows: 5_000, Keys: 50, Skew: 110, Raw: true}
	first := digest(c)
	if second := digest(c); second != first {
		t.Error("the same seed made another history")
	}
	c.Seed = 1
	if other := digest(c); other == first {
		t.Error("another seed made the same history")
	}
}

// TestRefusals gives values out of range.
func TestRefusals(t *testing.T) {
	good := synthetic.Config{Rows: 1}
	if _, err := synthetic.New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *synthetic.Config){
		"no rows":         func(c *synthetic.Config) { c.Rows = 0 },
		"negative keys":   func(c *synthetic.Config) { c.Keys = -1 },
		"too many days":   func(c *synthetic.Config) { c.Days = 90_000 },
		"a negative skew": func(c *synthetic.Config) { c.Skew = -1 },
	} {
		c := good
		change(&c)
		if _, err := synthetic.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
