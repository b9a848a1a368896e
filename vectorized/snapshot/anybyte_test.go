package snapshot

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
)

// flips is the number of places that TestAnyFlippedByteOfAnyRun damages: the short form, unless told otherwise.
var flips = flag.Int("flips", 400, "random places in which a byte of a set is flipped")

// readable is a set of accepted and rejected records in several files of several row groups, and the right result.
type readable struct {
	dir  string
	c    oracletest.Case
	want *projection.Projection
	mem  *memory.CheckedAllocator
}

// newReadable writes it.
func newReadable(t *testing.T) *readable {
	t.Helper()
	c := oracletest.Mixed(t, 5, 150)
	d := &readable{dir: filepath.Join(t.TempDir(), "set"), c: c, mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	export(t, limits{groupRows: 20, groupBytes: 1 << 20, fileGroups: 2}, d.dir, c.Namespace, c.Records)
	d.want = projections(t, c.Namespace, open(t, d.dir))["reference"]
	if err := d.read(); err != nil {
		t.Fatalf("the undamaged set: %v", err)
	}
	if len(d.want.Balances) == 0 || len(d.want.Rejections) == 0 || len(open(t, d.dir).Files()) < 8 {
		t.Fatalf("the set is too simple: %d files, %+v", len(open(t, d.dir).Files()), d.want)
	}
	return d
}

// errOther says that a set reads as another one.
var errOther = errors.New("the set reads as another one, without an error")

// read reads all files with the readers that runs use: typed ones, and raw ones as --from-raw does, in passes.
func (d *readable) read() error {
	s, err := Open(d.dir)
	if err != nil {
		return err
	}
	raw, err := s.Raw()
	if err != nil {
		return err
	}
	e, o := arrow.Engine{Memory: d.mem}, arrow.Options{Workers: 2}
	typed, err := e.ComputeColumns(context.Background(), d.c.Namespace, s.Typed(), o)
	if err != nil {
		return err
	}
	o.Memory = 1
	again, err := e.ComputeRaw(context.Background(), d.c.Namespace, raw, o)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(typed.Projection(), d.want) || !reflect.DeepEqual(again.Projection(), d.want) {
		return errOther
	}
	return nil
}

// paths are those of all files of the set, snapshot.json first.
func (d *readable) paths(t *testing.T) []string {
	t.Helper()
	paths := []string{filepath.Join(d.dir, indexName)}
	for _, f := range open(t, d.dir).Files() {
		paths = append(paths, filepath.Join(d.dir, f.Name))
	}
	return paths
}

// whole is the content of a file.
func whole(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAnyFlippedByteOfAnyRun flips one byte in random places of all files that a run with typed files and one with
// --from-raw read, every second time in the last 200 bytes: always an error that names the file, and no memory is kept.
// `-flips 2000` is the long form.
func TestAnyFlippedByteOfAnyRun(t *testing.T) {
	d := newReadable(t)
	paths, random := d.paths(t), rand.New(rand.NewPCG(21, 22))
	for n := range *flips {
		path := paths[random.IntN(len(paths))]
		good := whole(t, path)
		at := random.IntN(len(good))
		if n%2 == 0 { // footers are small
			at = len(good) - 1 - random.IntN(min(200, len(good)))
		}
		bad := slices.Clone(good)
		bad[at] ^= byte(1 + random.IntN(255))
		write(t, path, bad)
		var fault *FileError
		if err := d.read(); !errors.As(err, &fault) || fault.File != path {
			t.Fatalf("byte %d of %s: %v, want a fault of the file", at, filepath.Base(path), err)
		}
		if n := d.mem.CurrentAlloc(); n != 0 {
			t.Fatalf("byte %d of %s: %d bytes of Arrow memory leaked", at, filepath.Base(path), n)
		}
		write(t, path, good)
	}
	if err := d.read(); err != nil {
		t.Fatalf("the repaired set: %v", err)
	}
}

// TestB103FlippedBitsBehindTheDigest flips bits of each kind of file and makes the digests agree, so that the reader of pages meets
// them: an error that names the file, or values; a panic of the Parquet library is such an error, and no memory is kept. Bodies of pages have checksums, so
// that hardly any damage goes unseen even then.
func TestB103FlippedBitsBehindTheDigest(t *testing.T) {
	d := newReadable(t)
	paths, random := d.paths(t), rand.New(rand.NewPCG(31, 32))
	index := whole(t, paths[0])
	unseen, others := 0, 0
	for _, path := range []string{paths[1], paths[2], paths[len(paths)-2], paths[len(paths)-1]} {
		good := whole(t, path)
		for range *flips / 2 {
			bad := slices.Clone(good)
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
			write(t, path, bad)
			write(t, paths[0], sign([]byte(strings.Replace(string(index), digest(good), digest(bad), 1))))
			var fault *FileError
			switch err := d.read(); {
			case err == nil:
				unseen++
			case errors.Is(err, errOther):
				others++
			case !errors.As(err, &fault) || fault.File != path:
				t.Fatalf("%s: %v, want a fault of the file", filepath.Base(path), err)
			}
			if n := d.mem.CurrentAlloc(); n != 0 {
				t.Fatalf("%s: %d bytes of Arrow memory leaked", filepath.Base(path), n)
			}
		}
		write(t, path, good)
		write(t, paths[0], index)
	}
	t.Logf("of %d damages %d changed nothing that is read, %d gave another result", 4*(*flips/2), unseen, others)
	if others > *flips/50 {
		t.Errorf("%d damages gave another result", others)
	}
}
