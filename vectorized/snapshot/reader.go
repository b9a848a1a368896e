package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// ErrNone says that a folder holds no published snapshot.
var ErrNone = errors.New("no snapshot: there is no " + indexName)

// FileError is a file of a snapshot that is absent, damaged or of another shape.
type FileError struct {
	// File is the file's path.
	File string
	// Err is what is wrong with it.
	Err error
}

// Error implements error.
func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Snapshot is a published set. It does not change and is safe for concurrent use.
type Snapshot struct {
	dir   string
	index Index
}

// Open reads the snapshot.json of a folder. The files it names are read and verified when they are used. The error
// wraps ErrNone where there is no snapshot, and names the file.
func Open(dir string) (*Snapshot, error) {
	path := filepath.Join(dir, indexName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, &FileError{path, err}
	}
	return &Snapshot{dir, *x}, nil
}

// Meta says what history it holds.
func (s *Snapshot) Meta() Meta { return s.index.Meta }

// Files are the files it consists of, as snapshot.json lists them. They must not be changed.
func (s *Snapshot) Files() []File { return s.index.Files }

// The kinds of files, by the beginning of their names.
const (
	KindTyped = "part"
	KindRaw   = "raw"
)

// FilesOf are those of Files that are of one kind, in the order of the parts of that source.
func (s *Snapshot) FilesOf(kind string) []File {
	var files []File
	for _, f := range s.index.Files {
		if strings.HasPrefix(f.Name, kind+"-") {
			files = append(files, f)
		}
	}
	return files
}

// Records is how many records it holds, rejected ones included.
func (s *Snapshot) Records() (n int64) {
	for _, f := range s.FilesOf(KindTyped) { // a raw file has the same once more
		n += f.Rows
	}
	return n
}

// opened is a raw file in memory whose digest, columns and row count were verified: what was digested is what is decoded.
type opened struct {
	path   string
	groups []parquet.RowGroup
	order  *order
	lookup []int // position of each of the columns raw in the file
}

// open reads and verifies a raw file; the buffer may be used again once nothing is read of it any more.
func (s *Snapshot) open(ctx context.Context, f File, buffer []byte) (*opened, []byte, error) {
	o := &opened{path: filepath.Join(s.dir, f.Name), order: &order{file: f, last: -1}}
	data, digest, err := readInto(ctx, o.path, buffer)
	if err == nil {
		err = sameDigest(digest, f.SHA256)
	}
	if err == nil {
		err = guard(func() error { return o.parse(data, f.Rows) })
	}
	if err != nil {
		return nil, data, o.fault(ctx, err)
	}
	return o, data, nil
}

// parse reads the file's metadata.
func (o *opened) parse(data []byte, rows int64) error {
	if err := checkFooter(data); err != nil {
		return err
	}
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if o.lookup, _, err = lookUp(p, raw); err != nil {
		return err
	}
	o.groups = p.RowGroups()
	var inGroups int64
	for _, group := range o.groups {
		inGroups += group.NumRows()
	}
	if p.NumRows() != rows || inGroups != rows {
		return fmt.Errorf("it has %d rows, %d in its row groups; %s says %d", p.NumRows(), inGroups, indexName, rows)
	}
	return checkCodecs(p.Metadata())
}

// checkCodecs refuses compressions that cannot be read safely: parquet-go's LZ4 decoder doubles its buffer without bound
// on bytes that are no LZ4, and running out of memory cannot be recovered from.
func checkCodecs(metadata *format.FileMetaData) error {
	for i := range metadata.RowGroups {
		for j := range metadata.RowGroups[i].Columns {
			switch codec := metadata.RowGroups[i].Columns[j].MetaData.Codec; codec {
			case format.Zstd, format.Snappy, format.Gzip, format.Uncompressed:
			default:
				return fmt.Errorf("row group %d, column %d is compressed with %v, not zstd, snappy or gzip", i, j, codec)
			}
		}
	}
	return nil
}

// guard runs a piece of reading. The Parquet library may panic on damaged bytes, which must not end the process (B103).
func guard(read func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the Parquet reader panicked: %v", cause)
		}
	}()
	return read()
}

// fault names the file in an error, unless that is the caller's own cancellation.
func (o *opened) fault(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &FileError{o.path, err}
}

// sameDigest compares the SHA-256 of a file with that of snapshot.json.
func sameDigest(got, want string) error {
	if got != want {
		return fmt.Errorf("the file was changed: its SHA-256 is %s, %s says %s", got, indexName, want)
	}
	return nil
}

// contextReader fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// readColumn calls visit for every value of a column of a row group, nulls included, and checks their number. A value's
// bytes are valid during the call.
func readColumn(group parquet.RowGroup, column int, visit func(v parquet.Value) error) (err error) {
	pages := group.ColumnChunks()[column].Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	var values [1024]parquet.Value
	var rows int64
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n, err := readPage(page, values[:], visit)
		parquet.Release(page)
		if err != nil {
			return err
		}
		rows += n
	}
	if rows != group.NumRows() {
		return fmt.Errorf("column %d has %d values in a group of %d rows", column, rows, group.NumRows())
	}
	return nil
}

// readPage calls visit for every value of a page and returns their number.
func readPage(page parquet.Page, values []parquet.Value, visit func(v parquet.Value) error) (int64, error) {
	reader := page.Values()
	var rows int64
	for {
		n, err := reader.ReadValues(values)
		for _, v := range values[:n] {
			if err := visit(v); err != nil {
				return rows, err
			}
		}
		rows += int64(n)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if n == 0 {
			return rows, io.ErrNoProgress
		}
	}
}

// order checks the coordinates of a file's rows against its description.
type order struct {
	file File
	last int64
	rows int64
}

// partition checks one value of the partition column.
func (o *order) partition(p int32) error {
	if p != o.file.Partition {
		return fmt.Errorf("a row of partition %d", p)
	}
	return nil
}

// offset checks the next value of the offset column.
func (o *order) offset(offset int64) error {
	o.rows++
	if offset <= o.last || o.rows == 1 && offset != o.file.FirstOffset || o.rows == o.file.Rows && offset != o.file.LastOffset {
		return fmt.Errorf("offset %d in row %d is out of order", offset, o.rows-1)
	}
	o.last = offset
	return nil
}
