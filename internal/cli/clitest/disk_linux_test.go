//go:build mount

package clitest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/internal/pgserver"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// smallDisk returns a folder on a file system of its own of some bytes, and a function that gives it more. Only root may
// mount one, and not everywhere: the tests of this file are built with the tag mount alone.
func smallDisk(t *testing.T, size string) (string, func(size string)) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	grow := func(size string) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
	return dir, grow
}

// TestBrokerFolderFull: the embedded broker acknowledges nothing that it could not keep. The demo says how far it came,
// and with more room the next one passes on all that was acknowledged.
func TestBrokerFolderFull(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "2m")
	w := demoWorld(t)
	w.demoPasses("--records", "50")
	broker := filepath.Join(w.dir, "demo", "broker")
	kept := filepath.Join(disk, "broker")
	if err := errors.Join(os.CopyFS(kept, os.DirFS(broker)), os.RemoveAll(broker), os.Symlink(kept, broker)); err != nil {
		t.Fatal(err)
	}
	w.demoPasses()
	running := w.keepsRunning()
	o := w.with(running.variables...).ctl("generate", "--count", "1000000", "--seed", "2")
	if line, err := o.errorLine([]string{"generate"}); o.code != 1 || err != nil || !strings.HasSuffix(line, "records published so far stay in topic demo.transactions") {
		t.Errorf("exit code %d, %v: %s", o.code, err, o.stderr)
	}
	running.process.stop(syscall.SIGINT, 0)
	grow("500m")
	w.demoPasses()
}

// TestExportFolderFull: an export that finds no room says which file, leaves no half of a snapshot behind, and goes on
// when there is room.
func TestExportFolderFull(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "100k")
	w := appliedWorld(t)
	w.must("export", "--out", "twin")
	w.must("generate", "--count", "20000", "--seed", "2")
	out := filepath.Join(disk, "dump")
	w.fails(1, out+`.*no space left on device`, "export", "--out", out)
	if o := w.ctl("oracle", "--manifest", "shop.yaml", "--records", out); o.code == 0 {
		t.Errorf("half a snapshot is one: %s", o.stdout)
	}
	grow("100m")
	w.must("export", "--out", out)
	w.must("oracle", "--manifest", "shop.yaml", "--records", out)
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestPostgresFolderFull: stages whose database has no room left show that they are stalled and lose nothing; with more
// room they go on by themselves.
func TestPostgresFolderFull(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "300m")
	server := pg.Server(t, pgserver.Options{Dir: filepath.Join(disk, "postgres"), NoSync: true})
	w := worldOn(t, server.URL("postgres"), strings.Join(kafkatest.Fake(t).Seeds, ","))
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	w.must("generate", "--count", "4000", "--seed", "2")
	var space syscall.Statfs_t
	if err := syscall.Statfs(disk, &space); err != nil {
		t.Fatal(err)
	}
	filler := make([]byte, int64(space.Bavail)*space.Bsize)
	if err := os.WriteFile(filepath.Join(disk, "filler"), filler, 0o600); err != nil {
		t.Fatal(err)
	}
	stages := w.run()
	stages.says("No space left on device", 0)
	grow("600m")
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}
