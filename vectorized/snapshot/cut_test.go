package snapshot

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
)

// computeFrom computes from the typed files of a set, or from the raw ones.
func computeFrom(t *testing.T, ns *manifests.Namespace, dir, kind string) (int64, error) {
	t.Helper()
	s := open(t, dir)
	raw, err := s.Raw()
	if err != nil {
		t.Fatal(err)
	}
	var r *arrow.Result
	if kind == KindTyped {
		r, err = arrow.Engine{}.ComputeColumns(t.Context(), ns, s.Typed(), arrow.Options{})
	} else {
		r, err = arrow.Engine{}.ComputeRaw(t.Context(), ns, raw, arrow.Options{})
	}
	if err != nil {
		return 0, err
	}
	return r.Records, nil
}

// TestB101B103CutAndDamagedInPlace takes an export of 5,000 records, cuts each kind of file to nothing, to 4 bytes and at
// every 4 KiB, and changes 8 bytes in the middle of every KiB, all with digests that agree: what is left is never an empty
// history and never other numbers, but an error that names the file.
func TestB101B103CutAndDamagedInPlace(t *testing.T) {
	ns, records := accepted(t, 5_000)
	s := export(t, limits{groupRows: 1_700, groupBytes: 16 << 20, fileGroups: 16}, filepath.Join(t.TempDir(), "set"), ns, records)
	index := filepath.Join(s.dir, indexName)
	text := string(whole(t, index))
	for i, kind := range []string{KindTyped, KindRaw} {
		path := filepath.Join(s.dir, s.index.Files[i].Name)
		good := whole(t, path)
		if n, err := computeFrom(t, ns, s.dir, kind); err != nil || n != 5_000 || len(good) < 8<<10 {
			t.Fatalf("the undamaged twin: %d records of %d bytes, %v", n, len(good), err)
		}
		bads := [][]byte{{}, good[:4]}
		for at := 4 << 10; at < len(good); at += 4 << 10 {
			bads = append(bads, good[:at])
		}
		for at := 512; at+8 < len(good)-2<<10; at += 1 << 10 { // metadata lies behind
			bad := slices.Clone(good)
			for j := range 8 {
				bad[at+j] ^= 0xFF
			}
			bads = append(bads, bad)
		}
		t.Logf("%s: %d damages of %d bytes", kind, len(bads), len(good))
		unread := 0
		for n, bad := range bads {
			write(t, path, bad)
			write(t, index, sign([]byte(strings.Replace(text, digest(good), digest(bad), 1))))
			var fault *FileError
			switch _, err := computeFrom(t, ns, s.dir, kind); {
			case err == nil && len(bad) == len(good):
				unread++ // in a column that a run does not read: broker or source time
			case !errors.As(err, &fault) || fault.File != path:
				t.Errorf("%s, damage %d: %v, want a fault of the file", kind, n, err)
			}
		}
		if unread > len(bads)/2 {
			t.Errorf("%s: %d of %d damages were not seen", kind, unread, len(bads))
		}
		write(t, path, good)
		write(t, index, []byte(text))
	}
}
