//go:build unix

package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
)

// TestPipeIsNoFile: what would keep a reader waiting for ever is refused.
func TestPipeIsNoFile(t *testing.T) {
	c := oracletest.Mixed(t, 5, 60)
	s := export(t, standard, filepath.Join(t.TempDir(), "set"), c.Namespace, c.Records)
	compute := func() error {
		_, err := arrow.Engine{}.ComputeColumns(t.Context(), c.Namespace, s.Typed(), arrow.Options{})
		return err
	}
	if err := compute(); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	for _, kind := range []string{KindTyped, KindRaw} {
		path := filepath.Join(s.dir, s.FilesOf(kind)[0].Name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		err := compute()
		if kind == KindRaw {
			err = nil
			for _, failed := range s.History()(t.Context()) {
				if failed != nil {
					err = failed
					break
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "regular") {
			t.Errorf("%v, want a refusal of %s", err, path)
		}
	}
}
