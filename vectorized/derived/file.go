package derived

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

// flushRows is how many rows are handed to the Parquet writer at once, and groupRows how many end a row group, which
// writer and reader hold in memory.
const (
	flushRows = 1 << 10
	groupRows = 1 << 17
)

// tableFile is one Parquet file being written.
type tableFile[T any] struct {
	name    string
	file    *os.File
	digest  hash.Hash
	buffer  *bufio.Writer
	parquet *parquet.GenericWriter[T]
	pending []T
	rows    int64
	// passing says that nobody reads the file after this process.
	passing bool
}

// create begins a file of a dataset.
func create[T any](w *Writer, name string) (*tableFile[T], error) {
	file, err := os.OpenFile(filepath.Join(w.folder, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	f := &tableFile[T]{name: name, file: file, digest: sha256.New(), buffer: bufio.NewWriterSize(file, 1<<18), passing: w.handOver != nil}
	codec := parquet.Compression(&parquet.Zstd)
	if f.passing {
		codec = parquet.Compression(&parquet.Uncompressed)
	}
	f.parquet = parquet.NewGenericWriter[T](f, codec, parquet.MaxRowsPerRowGroup(groupRows))
	f.pending = make([]T, 0, flushRows)
	return f, nil
}

// Write digests and buffers what the Parquet writer puts out.
func (f *tableFile[T]) Write(data []byte) (int, error) {
	n, err := f.buffer.Write(data)
	_, _ = f.digest.Write(data[:n]) // a hash never fails
	return n, err
}

// add adds a row.
func (f *tableFile[T]) add(row T) error {
	f.pending = append(f.pending, row)
	f.rows++
	if len(f.pending) < flushRows {
		return nil
	}
	return f.flush()
}

func (f *tableFile[T]) flush() error {
	_, err := f.parquet.Write(f.pending)
	f.pending = f.pending[:0]
	return err
}

// finish completes the file, makes it durable unless it is passed on, and describes it.
func (f *tableFile[T]) finish(table Table, partition int32) (File, error) {
	err := f.flush()
	if err == nil {
		err = f.parquet.Close()
	}
	if err == nil {
		err = f.buffer.Flush()
	}
	if err == nil && !f.passing {
		err = f.file.Sync()
	}
	if err := errors.Join(err, f.file.Close()); err != nil {
		return File{}, err
	}
	return File{Name: f.name, Table: table, Partition: partition, Rows: f.rows, SHA256: hex.EncodeToString(f.digest.Sum(nil))}, nil
}

// abandon closes the file; its content is not wanted.
func (f *tableFile[T]) abandon() { _ = f.file.Close() }
