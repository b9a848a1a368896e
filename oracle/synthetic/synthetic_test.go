package synthetic_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized/snapshot"
)

// written writes a history and opens it.
func written(t *testing.T, c synthetic.Config) (*synthetic.History, *snapshot.Snapshot) {
	t.Helper()
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
	return h, s
}

// TestRawAndTypedAgree computes a synthetic history from its typed columns, from its raw records, and row by row: each
// record was rendered as it was told, and rejected where it was spoiled.
func TestRawAndTypedAgree(t *testing.T) {
	h, s := written(t, synthetic.Config{Rows: 40_000, Keys: 200, Skew: 110, Partitions: 3, Raw: true})
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
	rejected := int64(len(judged.Rejections))
	if sum.Records+rejected != 40_000 || rejected == 0 || sum.Duplicates == 0 || sum.LowerConflicts == 0 || sum.Alerts == 0 {
		t.Errorf("a history of another shape: %+v, %d rejections", sum, len(judged.Rejections))
	}
}

// digests are those of the files of a history, by name.
func digests(t *testing.T, c synthetic.Config) map[string]string {
	t.Helper()
	_, s := written(t, c)
	all := map[string]string{}
	for _, f := range s.Files() {
		all[f.Name] = f.SHA256
	}
	return all
}

// TestSameSeedSameFiles writes one history on one processor and on several, with raw files and without: every file has the
// same digest. Another seed makes another history.
func TestSameSeedSameFiles(t *testing.T) {
	c := synthetic.Config{Rows: 50_000, Keys: 50, Skew: 110, Raw: true}
	first := digests(t, c)
	before := runtime.GOMAXPROCS(1)
	one := digests(t, c)
	runtime.GOMAXPROCS(8)
	many := digests(t, c)
	runtime.GOMAXPROCS(before)
	if !maps.Equal(first, one) || !maps.Equal(first, many) {
		t.Error("the same seed made another history")
	}
	c.Raw = false
	typed := digests(t, c)
	if len(typed) == 0 || len(typed)*2 != len(first) {
		t.Errorf("%d typed files, %d in all", len(typed), len(first))
	}
	for name, sum := range typed {
		if first[name] != sum {
			t.Errorf("%s: another file without raw ones", name)
		}
	}
	c.Seed = 1
	for name, sum := range digests(t, c) {
		if typed[name] == sum {
			t.Errorf("%s: another seed made the same file", name)
		}
	}
}

// TestMix counts what a history has of everything: the shares stay what they are, because figures rest on them.
func TestMix(t *testing.T) {
	h, s := written(t, synthetic.Config{Rows: 300_000, Keys: 800, Skew: 110})
	r, err := arrow.Engine{}.ComputeColumns(t.Context(), h.Namespace, s.Typed(), arrow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Checksum()
	near := func(what string, got int64, share float64) {
		if want := share * 300_000; float64(got) < want*0.8 || float64(got) > want*1.2 {
			t.Errorf("%d %s, want about %.0f", got, what, want)
		}
	}
	near("identities", sum.Identities, 0.7213)
	near("duplicates", sum.Duplicates, 0.03)
	near("conflicts at lower revisions", sum.LowerConflicts, 0.003)
	near("rejections", r.Records-sum.Records, 0.0002)
	if sum.HighConflicts == 0 || sum.BlockedKeys == 0 || sum.BlockedKeys > 100 || sum.StatusKeys != 800 || sum.Alerts == 0 {
		t.Errorf("a history of another shape: %+v", sum)
	}
}

// TestCancelled ends the context at the first run: nothing is published, and that is said once, not for each partition.
func TestCancelled(t *testing.T) {
	h, err := synthetic.New(synthetic.Config{Rows: 300_000, Keys: 100})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "set")
	if err := h.WriteContext(ctx, dir, func(int) { cancel() }); !errors.Is(err, context.Canceled) || strings.Count(err.Error(), "canceled") != 1 {
		t.Fatalf("error %v", err)
	}
	if _, err := snapshot.Open(dir); !errors.Is(err, snapshot.ErrNone) {
		t.Errorf("published: %v", err)
	}
	var rows atomic.Int64
	if err := h.WriteContext(t.Context(), dir, func(n int) { rows.Add(int64(n)) }); err != nil || rows.Load() != 300_000 {
		t.Errorf("a second try: %d rows seen, %v", rows.Load(), err)
	}
}

// TestTopicIDs: each shape of a history is of a topic of its own, with raw records or without.
func TestTopicIDs(t *testing.T) {
	one := synthetic.Config{Rows: 2000, Raw: true}
	shapes := map[string]string{}
	for name, change := range map[string]func(c *synthetic.Config){
		"as it is":   func(*synthetic.Config) {},
		"rows":       func(c *synthetic.Config) { c.Rows++ },
		"keys":       func(c *synthetic.Config) { c.Keys = 9 },
		"skew":       func(c *synthetic.Config) { c.Skew = 1 },
		"days":       func(c *synthetic.Config) { c.Days = 731 },
		"partitions": func(c *synthetic.Config) { c.Partitions = 3 },
		"seed":       func(c *synthetic.Config) { c.Seed = 1 },
	} {
		c := one
		change(&c)
		h, err := synthetic.New(c)
		if err != nil {
			t.Fatal(err)
		}
		c.Raw = false
		bare, err := synthetic.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := shapes[h.TopicID()]; taken || h.TopicID() != bare.TopicID() {
			t.Errorf("%s: the topic of %q, %s without raw records", name, other, bare.TopicID())
		}
		shapes[h.TopicID()] = name
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
