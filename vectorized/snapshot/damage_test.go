package snapshot

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damage changes a file in one of the ways in which disks, copies and editors do: other is another file of the set.
// This is a seeded test and no fuzz target, because its binary holds Arrow, which takes minutes to instrument.
func damage(random *rand.Rand, good, other []byte) []byte {
	bad := slices.Clone(good)
	at := random.IntN(len(bad))
	end := min(len(bad), at+1+random.IntN(64))
	switch random.IntN(7) {
	case 0: // a hole
		clear(bad[at:end])
	case 1: // noise
		for i := at; i < end; i++ {
			bad[i] = byte(random.IntN(256))
		}
	case 2: // a piece is missing
		bad = slices.Delete(bad, at, end)
	case 3: // a piece stands twice
		bad = slices.Insert(bad, at, slices.Clone(bad[at:end])...)
	case 4: // the end is missing
		bad = bad[:at]
	case 5: // a piece of another file
		copy(bad[at:end], other[random.IntN(len(other)):])
	default: // two pieces are exchanged
		to := random.IntN(len(bad))
		n := min(end-at, len(bad)-to)
		piece := slices.Clone(bad[at : at+n])
		copy(bad[at:at+n], bad[to:to+n])
		copy(bad[to:to+n], piece)
	}
	return bad
}

// TestB102B103CompoundDamage damages typed and raw files in seeded ways and makes the digest agree, and damages
// snapshot.json itself: reading gives an error that names a file, or, of a Parquet file, what it gave before; never another
// history, never a panic.
func TestB102B103CompoundDamage(t *testing.T) {
	d := newDamaged(t)
	indexPath := filepath.Join(d.dir, indexName)
	index, err := os.ReadFile(indexPath)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{d.path(t, 0), d.path(t, 1), indexPath}
	others := []string{d.path(t, 2), d.path(t, 3), d.path(t, 0)}
	for i, path := range paths {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(others[i])
		if err != nil {
			t.Fatal(err)
		}
		silent := 0
		for seed := range uint64(250) {
			bad := damage(rand.New(rand.NewPCG(seed, uint64(i))), good, other)
			write(t, path, bad)
			if path != indexPath {
				write(t, indexPath, sign([]byte(strings.Replace(string(index), digest(good), digest(bad), 1))))
			}
			err := d.readAll()
			var fault *FileError
			switch {
			case err == nil && path == indexPath:
				t.Errorf("%s, seed %d: read as if nothing had happened", filepath.Base(path), seed)
			case err == nil:
				silent++ // nothing that a reader uses was changed
			case !errors.As(err, &fault) || path != indexPath && fault.File != path:
				t.Errorf("%s, seed %d: %v, want a fault of the file", filepath.Base(path), seed, err)
			}
		}
		write(t, path, good)
		write(t, indexPath, index)
		t.Logf("%s: %d of 250 damages read as before", filepath.Base(path), silent)
	}
	if err := d.readAll(); err != nil {
		t.Fatalf("the repaired set: %v", err)
	}
}

// TestAnyFlippedByte flips one byte in 2,000 random places of a set, footers and snapshot.json included: reading all of it
// is always an error that names the file.
func TestAnyFlippedByte(t *testing.T) {
	d := newDamaged(t)
	s := open(t, d.dir)
	paths := []string{filepath.Join(d.dir, indexName)}
	for _, f := range s.Files() {
		paths = append(paths, filepath.Join(d.dir, f.Name))
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		path := paths[random.IntN(len(paths))]
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(good)
		at := random.IntN(len(bad))
		bad[at] ^= byte(1 + random.IntN(255))
		write(t, path, bad)
		var fault *FileError
		if err := d.readAll(); !errors.As(err, &fault) || fault.File != path {
			t.Fatalf("byte %d of %s: %v, want a fault of the file", at, filepath.Base(path), err)
		}
		write(t, path, good)
	}
	if err := d.readAll(); err != nil {
		t.Fatalf("the repaired set: %v", err)
	}
}
