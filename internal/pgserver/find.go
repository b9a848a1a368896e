package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Binaries are the programs of one Postgres installation, as absolute paths.
type Binaries struct {
	InitDB, PGCtl, Postgres string
}

// searchPatterns are where systems install Postgres; a later version is preferred within one pattern.
var searchPatterns = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/local/pgsql/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Find returns the first complete installation: that of `postgres` on PATH, else the newest in the usual folders. The
// error wraps ErrMissing where there is none.
func Find() (Binaries, error) {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range searchPatterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return Binaries{}, fmt.Errorf("search %s: %w", pattern, err)
		}
		slices.SortFunc(found, func(a, b string) int { return versionOf(b) - versionOf(a) })
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if b, ok := binariesIn(dir); ok {
			return b, nil
		}
	}
	return Binaries{}, ErrMissing
}

func binariesIn(dir string) (Binaries, bool) {
	b := Binaries{
		InitDB:   filepath.Join(dir, "initdb"),
		PGCtl:    filepath.Join(dir, "pg_ctl"),
		Postgres: filepath.Join(dir, "postgres"),
	}
	for _, path := range []string{b.InitDB, b.PGCtl, b.Postgres} {
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return Binaries{}, false
		}
	}
	return b, true
}

// versionOf is the first number in the path, 0 where there is none: enough to order /usr/lib/postgresql/15 and …/9.6.
func versionOf(path string) int {
	start := strings.IndexAny(path, "0123456789")
	if start < 0 {
		return 0
	}
	digits := path[start:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
