package pgserver

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// download lets the embedded-postgres library fetch and unpack its archive into dir. The library has no call for that
// alone: it starts a throw-away server too, which as root fails, after the files are in place. Only the files count.
func download(user serverUser, dir string) (Binaries, error) {
	if bin, ok := binariesIn(filepath.Join(dir, "bin")); ok {
		return bin, nil // by an earlier start
	}
	scratch, err := os.MkdirTemp("", "amends-pg-scratch-")
	if err != nil {
		return Binaries{}, fmt.Errorf("make a scratch folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	port, err := freePort()
	if err != nil {
		return Binaries{}, err
	}
	config := embeddedpostgres.DefaultConfig().Version(embeddedpostgres.V16).Port(uint32(port)).Logger(io.Discard).
		BinariesPath(dir).CachePath(filepath.Join(scratch, "cache")).
		RuntimePath(filepath.Join(scratch, "run")).DataPath(filepath.Join(scratch, "data"))
	throwAway := embeddedpostgres.NewDatabase(config)
	startErr := throwAway.Start()
	if startErr == nil {
		if err := throwAway.Stop(); err != nil {
			return Binaries{}, fmt.Errorf("stop the downloaded Postgres: %w", err)
		}
	}
	bin, ok := binariesIn(filepath.Join(dir, "bin"))
	if !ok {
		return Binaries{}, fmt.Errorf("download Postgres: %w; %w", startErr, ErrMissing)
	}
	if err := user.own(dir); err != nil {
		return Binaries{}, err
	}
	return bin, nil
}
