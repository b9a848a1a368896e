package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
)

// damaged is a set of which a test changes files.
type damaged struct {
	dir     string
	ns      *manifests.Namespace
	records []engine.Record
}

// newDamaged exports the fixture and first reads it whole, so that what fails later fails because of the damage.
func newDamaged(t *testing.T) damaged {
	t.Helper()
	ns, records := fixture(t)
	d := damaged{filepath.Join(t.TempDir(), "set"), ns, records}
	export(t, small, d.dir, ns, records)
	if err := d.readAll(); err != nil {
		t.Fatalf("the undamaged set: %v", err)
	}
	return d
}

// readAll opens the set and reads every typed and raw file of it.
func (d damaged) readAll() error {
	s, err := Open(d.dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	typed, err := (arrow.Engine{}).ComputeColumns(ctx, d.ns, s.Typed(), arrow.Options{})
	if err != nil {
		return err
	}
	want, err := (arrow.Engine{}).Compute(ctx, d.ns, oracletest.Of(d.records))
	if err != nil {
		return err
	}
	var raw []engine.Record
	for r, err := range s.History()(ctx) {
		if err != nil {
			return err
		}
		raw = append(raw, r)
	}
	if !reflect.DeepEqual(typed.Projection(), want) || !reflect.DeepEqual(byPartition(raw), byPartition(d.records)) {
		return errors.New("the set reads as another one, without an error")
	}
	return nil
}

// path is that of the i-th file of the set.
func (d damaged) path(t *testing.T, i int) string {
	t.Helper()
	return filepath.Join(d.dir, open(t, d.dir).Files()[i].Name)
}

// failsNaming demands a *FileError that names a file.
func (d damaged) failsNaming(t *testing.T, what, path string) {
	t.Helper()
	var fault *FileError
	if err := d.readAll(); !errors.As(err, &fault) || fault.File != path {
		t.Errorf("%s: %v, want a fault of %s", what, err, path)
	}
}

// TestB101Damage changes bytes in the middle of a file, shortens, empties, removes and exchanges files.
func TestB101Damage(t *testing.T) {
	d := newDamaged(t)
	for i := range 2 { // a typed file and a raw one
		path := d.path(t, i)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(d.path(t, i+2))
		if err != nil {
			t.Fatal(err)
		}
		flipped := append([]byte{}, good...)
		for at := len(good)/2 - 4; at < len(good)/2+4; at++ {
			flipped[at] ^= 0xFF
		}
		for what, bad := range map[string][]byte{
			"flipped": flipped, "empty": {}, "four bytes": good[:4], "cut": good[:len(good)-1], "longer": append(append([]byte{}, good...), 0), "other file": other,
		} {
			write(t, path, bad)
			d.failsNaming(t, what, path)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		d.failsNaming(t, "removed", path)
		write(t, path, good)
	}
	if err := d.readAll(); err != nil {
		t.Fatalf("the repaired set: %v", err)
	}
}

// write replaces a file's content.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestB102B103ParserDamage flips single bits and makes the digest agree, so that the Parquet reader itself meets the
// damage. Nothing may panic, and no file may read as another one without an error: pages carry checksums.
func TestB102B103ParserDamage(t *testing.T) {
	d := newDamaged(t)
	random := rand.New(rand.NewPCG(1, 2))
	silent := 0
	for i := range 2 {
		path := d.path(t, i)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(filepath.Join(d.dir, indexName))
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			bad := append([]byte{}, good...)
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
			write(t, path, bad)
			write(t, filepath.Join(d.dir, indexName), sign([]byte(strings.Replace(string(index), digest(good), digest(bad), 1))))
			err := d.readAll()
			var fault *FileError
			switch {
			case err == nil:
				silent++ // in a statistic or a name that no reader uses
			case !errors.As(err, &fault) || fault.File != path:
				t.Fatalf("%v, want a fault of %s", err, path)
			}
		}
		write(t, path, good)
		write(t, filepath.Join(d.dir, indexName), index)
	}
	t.Logf("%d of 800 damages of bits read as before", silent)
}

// digest is a SHA-256 as snapshot.json writes it.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestRowsAreCounted changes what snapshot.json says of a file.
func TestRowsAreCounted(t *testing.T) {
	d := newDamaged(t)
	path := filepath.Join(d.dir, indexName)
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for old, replacement := range map[string]string{
		`"rows": 6`:         `"rows": 5`,
		`"firstOffset": 18`: `"firstOffset": 16`,
		`"lastOffset": 15`:  `"lastOffset": 16`,
	} {
		changed := strings.ReplaceAll(string(index), old, replacement)
		if changed == string(index) {
			t.Fatalf("%s is not in %s", old, index)
		}
		write(t, path, sign([]byte(changed)))
		var fault *FileError
		if err := d.readAll(); !errors.As(err, &fault) || !strings.HasSuffix(fault.File, ".parquet") {
			t.Errorf("%s: %v", replacement, err)
		}
	}
}

// TestIndexIsStrict breaks snapshot.json in every way that a reader must notice.
func TestIndexIsStrict(t *testing.T) {
	d := newDamaged(t)
	path := filepath.Join(d.dir, indexName)
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(index)
	first := strings.Index(text, `    {`)
	second := first + strings.Index(text[first:], `},`) + 2
	for what, changed := range map[string]string{
		"cut":               text[:len(text)/2],
		"version":           strings.Replace(text, `"version": 1`, `"version": 2`, 1),
		"unknown member":    strings.Replace(text, `"version": 1`, `"version": 1, "extra": 1`, 1),
		"twice":             strings.Replace(text, `"version": 1`, `"version": 1, "version": 1`, 1),
		"case":              strings.Replace(text, `"topicId"`, `"topicID"`, 1),
		"isolation":         strings.Replace(text, `read_committed`, `read_uncommitted`, 1),
		"path":              strings.Replace(text, `part-00000-00000`, `../part-00000-00000`, 1),
		"missing pair half": text[:first] + text[second:],
		"missing pair":      text[:first] + text[second+strings.Index(text[second:], `},`)+2:],
		"range":             strings.Replace(text, `"lastOffset": 57`, `"lastOffset": 58`, 1),
		"files are null":    regexp.MustCompile(`(?s)"files": \[.*\]`).ReplaceAllString(text, `"files": null`),
		"an offset is null": strings.Replace(text, "    0,\n", "    null,\n", 1),
		"no topic ID":       regexp.MustCompile(`"topicId": ".*",`).ReplaceAllString(text, ""),
		"no namespace":      regexp.MustCompile(`"namespace": ".*",`).ReplaceAllString(text, ""),
		"digest":            strings.Replace(text, `"sha256": "`, `"sha256": "x`, 1),
		"end":               strings.Replace(text, "    58\n", "    57\n", 1),
	} {
		if changed == text {
			t.Fatalf("%s changes nothing in\n%s", what, text)
		}
		write(t, path, sign([]byte(changed)))
		var fault *FileError
		if _, err := Open(d.dir); !errors.As(err, &fault) || fault.File != path {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(t, path, []byte(strings.Replace(text, `"topicId"`, `"topicId" `, 1)))
	var fault *FileError
	if _, err := Open(d.dir); !errors.As(err, &fault) || !strings.Contains(err.Error(), "its own sha256") {
		t.Errorf("a blank more: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestIndexSchema validates what is written against the published schema.
func TestIndexSchema(t *testing.T) {
	d := newDamaged(t)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(oracletest.Root(t), "schemas", "snapshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(d.dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, replacement string }{
		{"", ""}, {`"version": 1`, `"version": 2`}, {`"isolation"`, `"Isolation"`}, {".parquet", ".csv"}, {`"rows": 6`, `"rows": 0`},
	} {
		text := strings.ReplaceAll(string(data), c.old, c.replacement)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != (c.old == "") {
			t.Errorf("%q to %q: %v", c.old, c.replacement, err)
		}
	}
}

// TestStopsEarly reads one record and goes away, and computes under a context that has ended.
func TestStopsEarly(t *testing.T) {
	d := newDamaged(t)
	s := open(t, d.dir)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, err := range s.History()(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (arrow.Engine{Memory: mem}).ComputeColumns(cancelled, d.ns, s.Typed(), arrow.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
