package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
)

var errInjected = errors.New("no space left on device (injected)")

// volatile is a disk whose content need not survive: tests that write thousands of files do not wait for it.
type volatile struct{ disk }

func (volatile) create(path string) (file, error) {
	f, err := disk{}.create(path)
	return unsynced{f}, err
}

func (volatile) syncFolder(string) error { return nil }

// unsynced is a file of such a disk.
type unsynced struct{ file }

func (unsynced) Sync() error { return nil }

// faulty is a disk that fails at one step, counted over all calls.
type faulty struct {
	volatile
	steps, failAt int
}

// step counts and fails.
func (f *faulty) step() error {
	if f.steps++; f.steps == f.failAt {
		return errInjected
	}
	return nil
}

func (f *faulty) create(path string) (file, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	inner, err := f.volatile.create(path)
	return &faultyFile{inner, f}, err
}

func (f *faulty) rename(from, to string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.disk.rename(from, to)
}

func (f *faulty) syncFolder(path string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.volatile.syncFolder(path)
}

// faultyFile writes half of what it fails at.
type faultyFile struct {
	file
	faults *faulty
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.faults.step(); err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.faults.step(); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Close() error {
	if err := f.faults.step(); err != nil {
		return errors.Join(err, f.file.Close())
	}
	return f.file.Close()
}

// fixture is one namespace with records in two partitions, in files of a few rows.
func fixture(t *testing.T) (*manifests.Namespace, []engine.Record) {
	t.Helper()
	ns, err := manifests.New("fixture", manifests.Spec{
		Source:    manifests.Source{Topic: "in", Partitions: 2},
		Output:    manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var records []engine.Record
	for i := range int64(40) {
		records = append(records, engine.Record{
			Partition: int32(i % 2), Offset: i / 2 * 3, BrokerTime: i, Key: []byte("k"), Value: []byte(strings.Repeat("v", int(i))),
		})
	}
	return ns, records
}

// attempt exports records on a storage, as far as it goes.
func attempt(s storage, dir string, ns *manifests.Namespace, records []engine.Record, meta Meta) error {
	w, err := create(s, small, dir, ns, meta)
	if err != nil {
		return err
	}
	next := w.Next()
	for _, r := range records {
		if r.Offset < next[r.Partition] {
			continue
		}
		if err := w.Append([]engine.Record{r}); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	if err := w.Close(); err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

// byPartition compares histories partition by partition, as a snapshot is read: without the broker's time.
func byPartition(records []engine.Record) map[int32][]engine.Record {
	m := map[int32][]engine.Record{}
	for _, r := range records {
		r.BrokerTime = 0
		m[r.Partition] = append(m[r.Partition], r)
	}
	return m
}

// holds fails unless a set holds exactly the records.
func holds(t *testing.T, dir string, want []engine.Record) {
	t.Helper()
	if diff := cmp.Diff(byPartition(want), byPartition(rows(t, open(t, dir)))); diff != "" {
		t.Fatalf("the set differs (-want +got):\n%s", diff)
	}
}

// TestB104InterruptedExport fails at every step of a new export and of a later one. The final name holds what it held
// before, or the complete new set where only tidying up failed, and a rerun completes it.
func TestB104InterruptedExport(t *testing.T) {
	ns, records := fixture(t)
	half := records[:20]
	for failAt := 1; ; failAt++ {
		dir := filepath.Join(t.TempDir(), "set")
		s := &faulty{failAt: failAt}
		err := attempt(s, dir, ns, half, metaOf(ns, half))
		if s.steps < failAt {
			break
		}
		if _, openErr := Open(dir); openErr == nil {
			holds(t, dir, half)
		} else if !errors.Is(openErr, ErrNone) {
			t.Fatalf("step %d: %v", failAt, openErr)
		}
		if err != nil && !errors.Is(err, errInjected) {
			t.Fatalf("step %d: %v", failAt, err)
		}
		if err := attempt(volatile{}, dir, ns, half, metaOf(ns, half)); err != nil {
			t.Fatalf("step %d: rerun: %v", failAt, err)
		}
		holds(t, dir, half)
	}
	for failAt := 1; ; failAt++ {
		dir := filepath.Join(t.TempDir(), "set")
		if err := attempt(volatile{}, dir, ns, half, metaOf(ns, half)); err != nil {
			t.Fatal(err)
		}
		s := &faulty{failAt: failAt}
		err := attempt(s, dir, ns, records, metaOf(ns, records))
		if s.steps < failAt {
			break
		}
		if err == nil {
			holds(t, dir, records)
			continue
		}
		if x := open(t, dir); len(x.Meta().Ends) != 2 || x.Meta().Ends[0] != metaOf(ns, half).Ends[0] {
			holds(t, dir, records) // the rename was done and its folder could not be synced
		} else {
			holds(t, dir, half)
		}
		if err := attempt(volatile{}, dir, ns, records, metaOf(ns, records)); err != nil {
			t.Fatalf("step %d: rerun: %v", failAt, err)
		}
		holds(t, dir, records)
		tidy(t, dir)
	}
}

// tidy fails if a folder holds anything that its snapshot.json does not name.
func tidy(t *testing.T, dir string) {
	t.Helper()
	named := map[string]bool{indexName: true}
	for _, f := range open(t, dir).Files() {
		named[f.Name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !named[e.Name()] {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// TestResumesBehindCompleteFiles ends a process between two appends, without Abort, and looks where the next one begins.
func TestResumesBehindCompleteFiles(t *testing.T) {
	ns, records := fixture(t)
	dir := filepath.Join(t.TempDir(), "set")
	w, err := create(disk{}, small, dir, ns, metaOf(ns, records))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(records[:30]); err != nil {
		t.Fatal(err)
	}
	for _, l := range w.lanes { // nothing of an ended process writes on
		if l.busy != nil {
			<-l.busy
		}
	}
	if err := w.lock.release(); err != nil { // as the end of the process would
		t.Fatal(err)
	}
	w, err = create(disk{}, small, dir, ns, metaOf(ns, records))
	if err != nil {
		t.Fatal(err)
	}
	// Fifteen rows each, of which files of six are complete: rows 0 to 11, at offsets 0 to 33.
	if diff := cmp.Diff([]int64{34, 34}, w.Next()); diff != "" {
		t.Fatalf("Next (-want +got):\n%s", diff)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := attempt(volatile{}, dir, ns, records, metaOf(ns, records)); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, records)
	tidy(t, dir)
	if _, err := os.Stat(dir + partialSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial folder is still there: %v", err)
	}
}

// TestAppendsWhatIsNew publishes twice; the second export begins at the first one's ends and keeps its files.
func TestAppendsWhatIsNew(t *testing.T) {
	ns, records := fixture(t)
	dir := filepath.Join(t.TempDir(), "set")
	if err := attempt(volatile{}, dir, ns, records[:20], metaOf(ns, records[:20])); err != nil {
		t.Fatal(err)
	}
	before := open(t, dir).Files()
	w, err := create(disk{}, small, dir, ns, metaOf(ns, records))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metaOf(ns, records[:20]).Ends, w.Next()); diff != "" {
		t.Fatalf("Next (-want +got):\n%s", diff)
	}
	if err := w.Append(records[20:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, records)
	names := map[string]string{}
	for _, f := range open(t, dir).Files() {
		names[f.Name] = f.SHA256
	}
	for _, f := range before {
		if names[f.Name] != f.SHA256 {
			t.Errorf("%s was changed", f.Name)
		}
	}
	tidy(t, dir)
}

// TestRefuses what would mix histories, break the order or overwrite something else.
func TestRefuses(t *testing.T) {
	ns, records := fixture(t)
	meta := metaOf(ns, records)
	dir := filepath.Join(t.TempDir(), "set")
	if err := attempt(volatile{}, dir, ns, records, meta); err != nil {
		t.Fatal(err)
	}
	var mismatch *MismatchError
	for what, change := range map[string]func(m *Meta){
		"topic ID":      func(m *Meta) { m.TopicID = "topic-2" },
		"digest":        func(m *Meta) { m.BusinessDigest = strings.Repeat("0", 64) },
		"start offsets": func(m *Meta) { m.Starts = []int64{1, 0} },
		"end offsets":   func(m *Meta) { m.Ends = []int64{1, 1} },
		"namespace":     func(m *Meta) { m.Namespace = "other" },
	} {
		other := meta
		change(&other)
		if _, err := Create(dir, ns, other); !errors.As(err, &mismatch) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	held, err := Create(dir, ns, meta)
	if err != nil {
		t.Fatal(err)
	}
	var heldError *HeldError
	if _, err := Create(dir, ns, meta); !errors.As(err, &heldError) {
		t.Errorf("a second export: %v", err)
	}
	if err := held.Append(records[:1]); err == nil {
		t.Error("a record that the set holds was appended")
	}
	if err := held.Close(); err == nil {
		t.Error("a failed export was published")
	}
	if err := held.Abort(); err != nil {
		t.Error(err)
	}
	holds(t, dir, records)
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(foreign, ns, meta); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with other files: %v", err)
	}
}

// TestEmptyHistory publishes a set without files.
func TestEmptyHistory(t *testing.T) {
	ns, _ := fixture(t)
	s := export(t, standard, filepath.Join(t.TempDir(), "set"), ns, nil)
	if got := rows(t, s); len(got) != 0 {
		t.Errorf("%d records", len(got))
	}
	for name, p := range projections(t, ns, s) {
		oracletest.Equal(t, name, p, oracletest.Compute(t, reference.Engine{}, ns, nil))
	}
}

// TestIntoAnEmptyFolder: a folder that is there and empty, as a person makes one, becomes the snapshot.
func TestIntoAnEmptyFolder(t *testing.T) {
	ns, records := fixture(t)
	for _, dir := range []string{filepath.Join(t.TempDir(), "absent"), t.TempDir()} {
		if err := attempt(volatile{}, dir, ns, records, metaOf(ns, records)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestB106NoGapAndNoOverlap exports a history twice into one folder, the second time to a later end and in files of another
// size: each record is there once. A file taken out of the middle is missed, also where snapshot.json was made to agree.
func TestB106NoGapAndNoOverlap(t *testing.T) {
	ns, records := fixture(t)
	dir := filepath.Join(t.TempDir(), "set")
	half := records[:len(records)/2]
	export(t, small, dir, ns, half)
	w, err := create(volatile{}, limits{groupRows: 7, groupBytes: 1 << 20, fileGroups: 3}, dir, ns, metaOf(ns, records))
	if err != nil {
		t.Fatal(err)
	}
	var missing []engine.Record
	for _, r := range records {
		if r.Offset >= w.Next()[r.Partition] {
			missing = append(missing, r)
		}
	}
	if err := w.Append(missing); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if got := rows(t, s); !reflect.DeepEqual(byPartition(got), byPartition(records)) {
		t.Fatalf("%d records, want %d", len(got), len(records))
	}
	x := s.index
	x.Files = slices.Delete(slices.Clone(x.Files), 2, 4)
	text, err := x.render()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, indexName), text)
	var fault *FileError
	if _, err := Open(dir); !errors.As(err, &fault) || !strings.Contains(err.Error(), "want part-") {
		t.Errorf("a set with a file missing in the middle: %v", err)
	}
}
