package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// small makes every file and row group of a few rows.
var small = limits{groupRows: 3, groupBytes: 1 << 10, fileGroups: 2}

// metaOf describes the history of some records, every offset below the last one's successor.
func metaOf(ns *manifests.Namespace, records []engine.Record) Meta {
	m := Meta{
		Namespace: ns.Name, NamespaceDigest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest("topic-1"), TopicID: "topic-1",
		Starts: make([]int64, ns.Spec.Source.Partitions), Ends: make([]int64, ns.Spec.Source.Partitions), Isolation: ReadCommitted,
	}
	for _, r := range records {
		m.Ends[r.Partition] = max(m.Ends[r.Partition], r.Offset+1)
	}
	return m
}

// export writes records as a new set and opens it.
func export(t oracletest.TB, l limits, dir string, ns *manifests.Namespace, records []engine.Record) *Snapshot {
	t.Helper()
	w, err := create(volatile{}, l, dir, ns, metaOf(ns, records))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := w.Append(records); err != nil {
		t.Fatalf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	if err := w.Abort(); err != nil {
		t.Fatalf("Abort after Close: %v", err)
	}
	return open(t, dir)
}

// open opens a set that must be there.
func open(t oracletest.TB, dir string) *Snapshot {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// rows reads back all raw records.
func rows(t oracletest.TB, s *Snapshot) []engine.Record {
	t.Helper()
	var records []engine.Record
	for r, err := range s.History()(context.Background()) {
		if err != nil {
			t.Fatalf("%v", err)
		}
		records = append(records, r)
	}
	return records
}

// projections are what each engine makes of a set: arrow from the typed and from the raw files, reference from the raw.
func projections(t oracletest.TB, ns *manifests.Namespace, s *Snapshot) map[string]*projection.Projection {
	t.Helper()
	ctx := context.Background()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	got := map[string]*projection.Projection{}
	typed, err := (arrow.Engine{Memory: mem}).ComputeColumns(ctx, ns, s.Typed(), arrow.Options{})
	if err != nil {
		t.Fatalf("typed: %v", err)
	}
	got["typed"] = typed.Projection()
	if got["raw"], err = (arrow.Engine{Memory: mem}).Compute(ctx, ns, s.History()); err != nil {
		t.Fatalf("raw: %v", err)
	}
	passes, err := (arrow.Engine{Memory: mem}).ComputeColumns(ctx, ns, s.Typed(), arrow.Options{Workers: 2, Memory: 1})
	if err != nil {
		t.Fatalf("typed, in passes: %v", err)
	}
	got["typed, in passes"] = passes.Projection()
	source, err := s.Raw()
	if err != nil {
		t.Fatalf("raw source: %v", err)
	}
	raw, err := (arrow.Engine{Memory: mem}).ComputeRaw(ctx, ns, source, arrow.Options{Workers: 3, Memory: 1})
	if err != nil {
		t.Fatalf("raw source: %v", err)
	}
	got["raw source"] = raw.Projection()
	if got["reference"], err = (reference.Engine{}).Compute(ctx, ns, s.History()); err != nil {
		t.Fatalf("reference: %v", err)
	}
	if n := mem.CurrentAlloc(); n != 0 {
		t.Errorf("%d bytes of Arrow memory leaked", n)
	}
	return got
}

// TestRoundTrip computes every history there is from a snapshot of it, in small and in real files.
func TestRoundTrip(t *testing.T) {
	for _, h := range oracletest.All(t) {
		for name, l := range map[string]limits{"small": small, "standard": standard} {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				s := export(t, l, filepath.Join(t.TempDir(), "set"), h.Namespace, h.Records)
				for name, got := range projections(t, h.Namespace, s) {
					oracletest.Equal(t, name, got, h.Expected)
				}
			})
		}
	}
}

// TestB046RawBytes reads back random histories byte for byte, null and empty apart.
func TestB046RawBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		c := oracletest.Cases().Draw(rt, "case")
		for i := range c.Records {
			if rapid.IntRange(0, 9).Draw(rt, "empty") == 0 {
				c.Records[i].Key, c.Records[i].Value = []byte{}, []byte{}
			}
		}
		s := export(rt, small, filepath.Join(dir, "set"), c.Namespace, c.Records)
		if diff := cmp.Diff(byPartition(c.Records), byPartition(rows(rt, s))); diff != "" {
			rt.Fatalf("records differ (-want +got):\n%s", diff)
		}
		judged := oracletest.Compute(rt, reference.Engine{}, c.Namespace, c.Records)
		for name, got := range projections(rt, c.Namespace, s) {
			oracletest.Equal(rt, name, got, judged)
		}
	})
}
