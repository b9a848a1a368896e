package ownerconformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	corpus "amends.dev/amends/conformance"
)

// corpora are the folders that this machine has, by name: our own always, the published one where it was put.
func corpora(t *testing.T) map[string]fs.FS {
	t.Helper()
	own, err := corpus.DurableOwner()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]fs.FS{"own": own}
	root := os.Getenv("AMENDS_SHARED_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	if dir := filepath.Join(root, "durable-owner"); isFolder(dir) {
		found["published"] = os.DirFS(dir)
	} else {
		t.Logf("the published corpus is not at %s; name its parent in AMENDS_SHARED_CORPORA", dir)
	}
	return found
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// passes runs a folder on a store and wants everything to hold.
func passes(t *testing.T, folder fs.FS, open Open) {
	t.Helper()
	files, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 {
		t.Errorf("%d files", len(files))
	}
	for _, out := range RunAll(t.Context(), files, open, func(Outcome) {}) {
		if out.Result != Passed || out.Checks == 0 {
			t.Errorf("%s, %s: %d checks, %q", out.File, out.Scenario, out.Checks, out.Faults)
		}
	}
}

func TestCorporaInMemory(t *testing.T) {
	for name, folder := range corpora(t) {
		t.Run(name, func(t *testing.T) { passes(t, folder, Memory) })
	}
}
