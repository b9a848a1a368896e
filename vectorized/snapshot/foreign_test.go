package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"amends.dev/amends/internal/testkit/python"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// TestB107OtherWriters rewrites the files of a history with rejected records, long transaction IDs and several row groups by
// other Parquet writers, in the encodings that they may choose: the projection is the same from typed and from raw files, by
// either engine, or the file is refused by name and reason.
func TestB107OtherWriters(t *testing.T) {
	interpreter := python.Interpreter(t, "pyarrow", "polars", "duckdb")
	type refusals struct{ typed, raw, reference string }
	for writer, refusal := range map[string]refusals{
		"pyarrow": {}, "pyarrow-v1-pages": {}, "pyarrow-delta": {}, "pyarrow-dictionary": {}, "shuffled": {}, "polars": {}, "duckdb": {},
		"pyarrow-no-zone": {}, "pyarrow-micros": {typed: "column valid_time has type"}, "pyarrow-lz4": {reference: "is compressed with LZ4_RAW"},
		"pyarrow-brotli": {"is compressed with BROTLI", "is compressed with BROTLI", "is compressed with BROTLI"},
	} {
		t.Run(writer, func(t *testing.T) {
			sets := foreignSets(t)
			arguments := []string{"testdata/rewrite.py", writer}
			for _, s := range sets {
				for _, f := range s.snapshot.Files() {
					arguments = append(arguments, filepath.Join(s.snapshot.dir, f.Name))
				}
			}
			out, err := exec.Command(interpreter, arguments...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, s := range sets {
				s.index(t)
				set := open(t, s.snapshot.dir)
				typed, err := arrow.Engine{}.ComputeColumns(t.Context(), s.ns, set.Typed(), arrow.Options{})
				s.check(t, "typed", "part-", refusal.typed, err, func() *projection.Projection { return typed.Projection() })
				source, err := set.Raw()
				if err != nil {
					t.Fatal(err)
				}
				raw, err := arrow.Engine{}.ComputeRaw(t.Context(), s.ns, source, arrow.Options{})
				s.check(t, "raw", "raw-", refusal.raw, err, func() *projection.Projection { return raw.Projection() })
				naive, err := reference.Engine{}.Compute(t.Context(), s.ns, set.History())
				s.check(t, "reference", "raw-", refusal.reference, err, func() *projection.Projection { return naive })
			}
		})
	}
}

// check holds a result against that of our own files, or its error against the refusal that is wanted.
func (s *foreignSet) check(t *testing.T, name, file, refusal string, err error, got func() *projection.Projection) {
	t.Helper()
	switch {
	case refusal != "":
		if err == nil || !strings.Contains(err.Error(), refusal) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s, %s: %v, want a refusal that says %q", s.name, name, err, refusal)
		}
	case err != nil:
		t.Errorf("%s, %s: %v", s.name, name, err)
	default:
		oracletest.Equal(t, s.name+", "+name, got(), s.want)
	}
}

// foreignSet is a snapshot whose files another writer rewrites.
type foreignSet struct {
	name     string
	ns       *manifests.Namespace
	snapshot *Snapshot
	want     *projection.Projection
}

// foreignSets are a history of rejected records only, one with every anomaly, and all others there are.
func foreignSets(t *testing.T) []foreignSet {
	t.Helper()
	ns, records := fixture(t)
	mixed := oracletest.Mixed(t, 3, 2500)
	all := []oracletest.History{{Name: "rejected", Namespace: ns, Records: records}, {Name: "mixed", Namespace: mixed.Namespace, Records: mixed.Records}}
	all = append(all, oracletest.All(t)...)
	var sets []foreignSet
	for _, h := range all {
		s := export(t, limits{groupRows: max(3, len(h.Records)/4), groupBytes: 1 << 20, fileGroups: 2}, filepath.Join(t.TempDir(), "set"), h.Namespace, h.Records)
		sets = append(sets, foreignSet{h.Name, h.Namespace, s, projections(t, h.Namespace, s)["reference"]})
	}
	return sets
}

// index makes snapshot.json agree with the files.
func (s *foreignSet) index(t *testing.T) {
	t.Helper()
	x := s.snapshot.index
	for i, f := range x.Files {
		data, err := os.ReadFile(filepath.Join(s.snapshot.dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		x.Files[i].SHA256 = digest(data)
	}
	text, err := x.render()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.snapshot.dir, indexName), text)
}
