package derive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/schemas"
	"amends.dev/amends/vectorized/derived"
)

// history is one partition of records.
func history(records []engine.Record) derive.Source {
	return func(partition int32) engine.History {
		return func(context.Context) iter.Seq2[engine.Record, error] {
			return func(yield func(engine.Record, error) bool) {
				for _, r := range records {
					if r.Partition == partition && !yield(r, nil) {
						return
					}
				}
			}
		}
	}
}

// run derives a case into a folder.
func run(ctx context.Context, dir string, c oracletest.Case, source derive.Source) error {
	ends := make([]int64, c.Namespace.Spec.Source.Partitions)
	for _, r := range c.Records {
		ends[r.Partition] = max(ends[r.Partition], r.Offset+1)
	}
	w, err := derived.Create(dir, derived.Meta{BusinessDigest: c.Namespace.BusinessDigest("t"), TopicID: "t", Ends: ends, Engine: derive.Engine, Decoder: derive.Decoder})
	if err != nil {
		return err
	}
	if err := derive.Run(ctx, w, c.Namespace, source, 2); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}

// rows reads one table of all partitions.
func rows[T any](t *rapid.T, dir string, table derived.Table) (all []T) {
	names, err := filepath.Glob(filepath.Join(dir, string(table)+"-*.parquet"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", table, names, err)
	}
	for _, name := range names {
		part, err := parquet.ReadFile[T](name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
	}
	return all
}

// TestEqualsReference: what is derived of random histories shows, as a projection, what the naive engine computes from the
// same records with its own decoder; a history out of domain is refused exactly where that engine finds one (R09).
func TestEqualsReference(t *testing.T) {
	root, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		c := oracletest.Cases().Draw(t, "case")
		want := oracletest.Compute(t, reference.Engine{}, c.Namespace, c.Records)
		dir := filepath.Join(root, strconv.Itoa(n))
		err := run(t.Context(), dir, c, history(c.Records))
		if len(want.OutOfDomain) > 0 {
			if !errors.Is(err, derive.ErrOutOfDomain) {
				t.Fatalf("%v, want a close out of domain: %+v", err, want.OutOfDomain)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, shown(t, dir, c)); diff != "" {
			t.Fatalf("(-reference +derived):\n%s", diff)
		}
	})
}

// shown is a dataset as a projection.
func shown(t *rapid.T, dir string, c oracletest.Case) *projection.Projection {
	p := &projection.Projection{Balances: []projection.Balance{}, Alerts: []projection.Alert{}, Statuses: []projection.Status{},
		SupersededConflicts: []projection.Conflict{}, Rejections: []projection.Rejection{}, OutOfDomain: []projection.OutOfDomain{}}
	keys := c.Namespace.Spec.StockKeys
	days := rows[derived.Day](t, dir, derived.TableDay)
	slices.SortStableFunc(days, func(a, b derived.Day) int { return int(a.Key - b.Key) })
	for _, d := range days {
		k, day := keys[d.Key], time.Unix(int64(d.Day)*86_400, 0).UTC().Format(time.DateOnly)
		p.Balances = append(p.Balances, projection.Balance{Item: k.Item, Location: k.Location, Day: day, Close: d.Close})
		if d.Alert {
			p.Alerts = append(p.Alerts, projection.Alert{Item: k.Item, Location: k.Location, Day: day, Close: d.Close, Threshold: k.ReorderThreshold})
		}
	}
	reasons := map[int32][]projection.ConflictRef{}
	conflicts := rows[derived.Conflict](t, dir, derived.TableConflict)
	slices.SortStableFunc(conflicts, func(a, b derived.Conflict) int { return int(a.Key - b.Key) })
	for _, r := range conflicts {
		k := keys[r.Key]
		if r.Highest {
			reasons[r.Key] = append(reasons[r.Key], projection.ConflictRef{TxnID: r.TxnID, Revision: r.Revision})
		} else {
			p.SupersededConflicts = append(p.SupersededConflicts, projection.Conflict{Item: k.Item, Location: k.Location, TxnID: r.TxnID, Revision: r.Revision})
		}
	}
	statuses := rows[derived.Status](t, dir, derived.TableStatus)
	slices.SortFunc(statuses, func(a, b derived.Status) int { return int(a.Key - b.Key) })
	for _, s := range statuses {
		row := projection.Status{Item: keys[s.Key].Item, Location: keys[s.Key].Location, Status: "READY", Conflicts: []projection.ConflictRef{}}
		if len(reasons[s.Key]) > 0 {
			row.Status, row.Conflicts = "BLOCKED", reasons[s.Key]
		}
		p.Statuses = append(p.Statuses, row)
	}
	for partition := range c.Namespace.Spec.Source.Partitions {
		part, err := parquet.ReadFile[derived.Quarantine](filepath.Join(dir, fmt.Sprintf("quarantine-%05d.parquet", partition)))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range part {
			p.Rejections = append(p.Rejections, projection.Rejection{Partition: partition, Offset: q.Offset, Reason: q.Reason})
		}
	}
	return p
}

// TestDatasetIsByTheSchema: derived.json is what schemas/derived-state.json says, and a second run writes the same bytes.
func TestDatasetIsByTheSchema(t *testing.T) {
	data, err := schemas.Read("derived-state.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("derived-state.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("derived-state.json")
	if err != nil {
		t.Fatal(err)
	}
	h := oracletest.All(t)[0]
	var before []byte
	for _, name := range []string{"first", "second"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := run(t.Context(), dir, oracletest.Case{Namespace: h.Namespace, Records: h.Records}, history(h.Records)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, derived.IndexName))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Error(err)
		}
		if before != nil && !bytes.Equal(before, text) {
			t.Errorf("the same history gives two datasets:\n%s\n%s", before, text)
		}
		before = text
	}
}

// TestRunFails: whatever goes wrong leaves nothing under the final name, and nothing beside it.
func TestRunFails(t *testing.T) {
	h := oracletest.All(t)[0]
	broken := errors.New("broken")
	backwards := slices.Clone(h.Records[:1])
	backwards = append(backwards, backwards...)
	for name, c := range map[string]struct {
		source derive.Source
		want   error
	}{
		"a source that breaks": {func(int32) engine.History {
			return func(context.Context) iter.Seq2[engine.Record, error] {
				return func(yield func(engine.Record, error) bool) { yield(engine.Record{}, broken) }
			}
		}, broken},
		"records out of order":       {history(backwards), derive.ErrHistory},
		"records of other partition": {func(int32) engine.History { return history(h.Records[:1])(h.Records[0].Partition) }, derive.ErrHistory},
	} {
		root := t.TempDir()
		other := oracletest.Case{Namespace: h.Namespace, Records: h.Records}
		err := run(t.Context(), filepath.Join(root, "set"), other, c.source)
		if name == "records of other partition" && h.Namespace.Spec.Source.Partitions == 1 {
			continue
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(root); len(left) > 0 {
			t.Errorf("%s left %v", name, left)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, filepath.Join(t.TempDir(), "set"), oracletest.Case{Namespace: h.Namespace, Records: h.Records}, history(h.Records)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCreateKeepsWhatIsThere: a folder that holds something is refused; what an interrupted run left is not in the way.
func TestCreateKeepsWhatIsThere(t *testing.T) {
	h := oracletest.All(t)[0]
	c := oracletest.Case{Namespace: h.Namespace, Records: h.Records}
	dir := filepath.Join(t.TempDir(), "set")
	if err := os.MkdirAll(dir+".partial", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir+".partial", "stray"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir, c, history(c.Records)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stray")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stray file was published: %v", err)
	}
	if err := run(t.Context(), dir, c, history(c.Records)); !errors.Is(err, derived.ErrExists) {
		t.Errorf("a second dataset in one folder: %v", err)
	}
}
