package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
)

// Bytes of one record in typed and in raw files, and of one stock key: more than were seen of any history.
const (
	typedBytes = 24
	rawBytes   = 48
	keyBytes   = 40
)

// room is the disk that a history needs, and what there is; -1 where the system does not tell.
type room struct {
	NeedBytes int64 `json:"needBytes"`
	FreeBytes int64 `json:"freeBytes"`
	dir       string
}

// room looks at the disk of a folder, which need not exist yet.
func (f *historyFlags) room(dir string, keys int64) room {
	each := int64(typedBytes + rawBytes)
	if f.noRaw {
		each = typedBytes
	}
	return room{f.config.Rows*each + keys*keyBytes, machine.Free(existing(dir)), dir}
}

// existing is the nearest folder above that exists.
func existing(dir string) string {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at
		}
	}
}

// String says what is needed.
func (r room) String() string {
	text := fmt.Sprintf("the history needs up to %s of disk in %s", size(r.NeedBytes), r.dir)
	if r.FreeBytes >= 0 {
		text += fmt.Sprintf(", where %s are free", size(r.FreeBytes))
	}
	return text
}

// check refuses what does not fit.
func (r room) check() error {
	if r.FreeBytes >= 0 && r.FreeBytes < r.NeedBytes {
		return exit.With(exit.Refused, fmt.Errorf("the disk has too little room: %v; name another folder with --dir, "+
			"take fewer --rows, or leave the raw records out with --no-raw", r))
	}
	return nil
}

// size is a number of bytes for people.
func size(bytes int64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
