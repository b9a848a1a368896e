package snapshot

import (
	"errors"
	"fmt"
	"path/filepath"
)

// limits bound row groups and files. A row group is held in memory by its writer, one per partition, and by its reader.
type limits struct {
	// groupRows and groupBytes, the latter of keys and values, end a row group; fileGroups row groups end a file.
	groupRows, groupBytes, fileGroups int
}

// standard are the limits of real exports: files of up to 2 million records or 256 MiB.
var standard = limits{groupRows: 1 << 17, groupBytes: 16 << 20, fileGroups: 16}

// pair is the typed and the raw file of one range of a partition, being written; raw is nil in a set without raw files.
type pair struct {
	limits      limits
	part, raw   *parquetFile
	partition   int32
	first, last int64
}

// newPair begins the n-th files of a partition.
func newPair(w *Writer, partition int32, n int) (*pair, error) {
	p := &pair{limits: w.limits, partition: partition}
	var err error
	if p.part, err = createParquet(w.storage, filepath.Join(w.folder, fileName(KindTyped, partition, n)), partLayout); err != nil {
		return nil, err
	}
	if !w.index.Raw {
		return p, nil
	}
	if p.raw, err = createParquet(w.storage, filepath.Join(w.folder, fileName(KindRaw, partition, n)), rawLayout); err != nil {
		return nil, errors.Join(err, p.part.file.Close(), w.storage.remove(p.part.path))
	}
	return p, nil
}

// full reports whether the next record belongs into new files.
func (p *pair) full() bool { return len(p.part.groups) >= p.limits.fileGroups }

// finish completes both files, makes them durable and describes them.
func (p *pair) finish() ([]File, error) {
	err := p.part.finish()
	if p.raw != nil {
		err = errors.Join(err, p.raw.finish())
	}
	if err != nil {
		return nil, err
	}
	describe := func(f *parquetFile) File {
		return File{
			Name: filepath.Base(f.path), Partition: p.partition, FirstOffset: p.first, LastOffset: p.last, Rows: f.rows,
			SHA256: f.sum(),
		}
	}
	if p.raw == nil {
		return []File{describe(p.part)}, nil
	}
	return []File{describe(p.part), describe(p.raw)}, nil
}

// discard removes the files, complete or not.
func (p *pair) discard(s storage) error {
	var errs []error
	for _, f := range []*parquetFile{p.part, p.raw} {
		if f != nil {
			_ = f.file.Close() // it may be closed already
			errs = append(errs, s.remove(f.path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove incomplete files: %w", err)
	}
	return nil
}
