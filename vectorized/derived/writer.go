package derived

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// partialSuffix marks the folder in which a dataset is written.
const partialSuffix = ".partial"

// ErrExists is wrapped by Create where there is something under the final name.
var ErrExists = errors.New("there is something in the folder already")

// Writer writes one dataset. Partitions may be written by several goroutines; Close is called after all of them.
type Writer struct {
	dir, folder string
	// handOver takes complete partitions, nil where the dataset is published as a whole.
	handOver func(Part) error

	mu        sync.Mutex
	index     Index
	done      []bool
	published bool
}

// Part is a partition that is complete.
type Part struct {
	// Partition is the source partition.
	Partition int32
	// Accepted and Rejected count its records.
	Accepted, Rejected int64
	// Files are its files, in the order of the tables.
	Files []File
}

// Create begins a dataset that will be published as the folder dir, which must not exist or be empty. What an interrupted
// one left is removed.
func Create(dir string, meta Meta) (*Writer, error) {
	dir = filepath.Clean(dir)
	w := newWriter(dir, dir+partialSuffix, meta)
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("write a dataset to %s: %w", dir, ErrExists)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("write a dataset to %s: %w", dir, err)
	}
	if err := errors.Join(os.RemoveAll(w.folder), os.MkdirAll(w.folder, 0o700)); err != nil {
		return nil, fmt.Errorf("write a dataset to %s: %w", dir, err)
	}
	return w, nil
}

// Pass begins a dataset that is passed on partition by partition, within this process, and published never: each partition is
// handed over as soon as it is complete, by the goroutine that completed it. The folder is there and holds files of this
// writer alone, which are neither compressed nor made durable; the caller removes them.
func Pass(folder string, meta Meta, handOver func(Part) error) *Writer {
	w := newWriter(folder, folder, meta)
	w.handOver = handOver
	return w
}

// End is H of a partition, as Meta has it.
func (w *Writer) End(partition int32) int64 { return w.index.Ends[partition] }

func newWriter(dir, folder string, meta Meta) *Writer {
	n := len(meta.Ends)
	w := &Writer{dir: dir, folder: folder, done: make([]bool, n)}
	w.index = Index{Version: Version, Meta: meta, Accepted: make([]int64, n), Rejected: make([]int64, n)}
	w.index.Files = make([]File, n*len(tables()))
	return w
}

// tables are all tables in the order in which derived.json lists them.
func tables() []Table {
	return []Table{TableAuthority, TableEvidence, TableConflict, TableDay, TableStatus, TableQuarantine}
}

// Close publishes the dataset in one rename. All partitions must be complete.
func (w *Writer) Close() error {
	if err := w.publish(); err != nil {
		return fmt.Errorf("write a dataset to %s: %w", w.dir, err)
	}
	w.published = true
	return nil
}

func (w *Writer) publish() error {
	if p := slices.Index(w.done, false); p >= 0 {
		return fmt.Errorf("partition %d is not complete", p)
	}
	data, err := w.index.render()
	if err != nil {
		return err
	}
	if err := writeDurably(filepath.Join(w.folder, IndexName), data); err != nil {
		return err
	}
	if err := syncFolder(w.folder); err != nil {
		return err
	}
	if err := os.Remove(w.dir); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty folder
		return err
	}
	if err := os.Rename(w.folder, w.dir); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(w.dir))
}

// Abort removes what was written. After Close it does nothing, and neither of a dataset that is passed on.
func (w *Writer) Abort() error {
	if w.published || w.handOver != nil {
		return nil
	}
	if err := os.RemoveAll(w.folder); err != nil {
		return fmt.Errorf("remove an incomplete dataset: %w", err)
	}
	return nil
}

// complete takes over the files of a partition.
func (w *Writer) complete(part Part) error {
	if w.handOver != nil {
		return w.handOver(part)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	copy(w.index.Files[int(part.Partition)*len(part.Files):], part.Files)
	w.index.Accepted[part.Partition], w.index.Rejected[part.Partition] = part.Accepted, part.Rejected
	w.done[part.Partition] = true
	return nil
}

func writeDurably(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
