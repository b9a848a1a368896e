package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/vectorized"
)

// loadedFile is a file in memory: what was digested is what is decoded.
type loadedFile struct {
	file     File
	path     string
	data     []byte
	groups   []format.RowGroup
	wanted   []columnSpec
	lookup   []int   // position of each wanted column in the file
	optional []bool  // whether its values may be null
	firsts   []int64 // the number of the first row of each group
	mu       sync.Mutex
	spans    []span // of the groups that were decoded; guarded by mu
}

// span is the first and the last offset of a row group that has rows.
type span struct {
	known       bool
	first, last int64
}

// maxGroupRows bounds the records of a row group, which is decoded into memory at once.
const maxGroupRows = 1 << 24

// Typed returns the typed files as a source of columns. Raw files are not read.
func (s *Snapshot) Typed() vectorized.Source {
	return &typedFiles{fileSet{s.dir, s.FilesOf(KindTyped), typed}}
}

// Raw returns the raw files as a source of records. Typed files are not read. The error wraps ErrNoRaw where there are
// none.
func (s *Snapshot) Raw() (vectorized.RawSource, error) {
	if !s.index.Raw {
		return nil, fmt.Errorf("%s: %w", s.dir, ErrNoRaw)
	}
	return &rawFiles{fileSet{s.dir, s.FilesOf(KindRaw), raw}}, nil
}

// fileSet are the files of one kind, with the columns that are needed of them.
type fileSet struct {
	dir    string
	files  []File
	wanted []columnSpec
}

// typedFiles and rawFiles are the two kinds.
type (
	typedFiles struct{ fileSet }
	rawFiles   struct{ fileSet }
)

// Parts implements vectorized.Source.
func (s *fileSet) Parts() []vectorized.Part {
	parts := make([]vectorized.Part, len(s.files))
	for i, f := range s.files {
		parts[i] = vectorized.Part{Partition: f.Partition, Rows: f.Rows}
	}
	return parts
}

// NewDecoder implements vectorized.Source.
func (s *typedFiles) NewDecoder() vectorized.Decoder { return &decoder{} }

// NewDecoder implements vectorized.RawSource.
func (s *rawFiles) NewDecoder() vectorized.RawDecoder { return &rawDecoder{} }

// Load implements vectorized.Source: it verifies the file's digest, its columns and its number of rows.
func (s *fileSet) Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error) {
	t := &loadedFile{file: s.files[i], path: filepath.Join(s.dir, s.files[i].Name), wanted: s.wanted}
	data, digest, err := readInto(ctx, t.path, buffer)
	if err == nil {
		err = t.parse(data, digest)
	}
	if err != nil {
		if ctx.Err() == nil {
			err = &FileError{t.path, err}
		}
		return nil, data, err
	}
	return t, data, nil
}

// readAhead is how much of a file is read before it is digested: what then still lies in the processor's cache.
const readAhead = 1 << 18

// openRegular opens a file of a snapshot. Anything else of that name, as a pipe, could keep a reader waiting for ever.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return os.Open(path)
}

// readInto reads a whole file and digests it on the way.
func readInto(ctx context.Context, path string, buffer []byte) ([]byte, string, error) {
	file, err := openRegular(path)
	if err != nil {
		return buffer, "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return buffer, "", err
	}
	if int64(cap(buffer)) < info.Size() {
		buffer = make([]byte, info.Size())
	}
	buffer = buffer[:info.Size()]
	digest := sha256.New()
	for rest := buffer; len(rest) > 0; {
		piece := rest[:min(len(rest), readAhead)]
		if _, err := io.ReadFull(contextReader{ctx, file}, piece); err != nil {
			return buffer, "", err
		}
		_, _ = digest.Write(piece) // a hash never fails
		rest = rest[len(piece):]
	}
	return buffer, hex.EncodeToString(digest.Sum(nil)), nil
}

// parse verifies the bytes of a file.
func (t *loadedFile) parse(data []byte, digest string) error {
	if err := sameDigest(digest, t.file.SHA256); err != nil {
		return err
	}
	return guard(func() error { return t.open(data) })
}

// open reads the metadata.
func (t *loadedFile) open(data []byte) error {
	if err := checkFooter(data); err != nil {
		return err
	}
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if t.lookup, t.optional, err = lookUp(p, t.wanted); err != nil {
		return err
	}
	t.data, t.groups = data, p.Metadata().RowGroups
	t.spans = make([]span, len(t.groups))
	var rows int64
	for i := range t.groups {
		n := t.groups[i].NumRows
		if n < 0 || n > maxGroupRows {
			return fmt.Errorf("row group %d has %d rows; at most %d are read at once", i, n, maxGroupRows)
		}
		t.firsts = append(t.firsts, rows)
		rows += n
	}
	if p.NumRows() != t.file.Rows || rows != t.file.Rows {
		return fmt.Errorf("it has %d rows, %d in its row groups; %s says %d", p.NumRows(), rows, indexName, t.file.Rows)
	}
	return nil
}

// errType says that a part is of another source; only a mistake of the caller makes that.
var errType = errors.New("a part of another source")

// Groups implements vectorized.Loaded.
func (t *loadedFile) Groups() int { return len(t.groups) }

// decoder decodes row groups into columns. Its memory is reused.
type decoder struct {
	columns vectorized.Columns
	values  [typedColumns]columnReader
	pages   decompressor
	// accepted are the levels that the columns of accepted records must have.
	accepted []byte
}

// Columns implements vectorized.Decoder. Coordinates are checked against the file's description.
func (d *decoder) Columns(l vectorized.Loaded, group int) (c *vectorized.Columns, err error) {
	t, ok := l.(*loadedFile)
	if !ok {
		return nil, errType
	}
	err = guard(func() error {
		var err error
		c, err = d.decode(t, group)
		return err
	})
	if err != nil {
		return nil, t.Fault(fmt.Errorf("row group %d: %w", group, err))
	}
	return c, nil
}

// Fault implements vectorized.Loaded.
func (t *loadedFile) Fault(err error) error { return &FileError{t.path, err} }

// decode decodes a row group.
func (d *decoder) decode(t *loadedFile, group int) (*vectorized.Columns, error) {
	rows := int(t.groups[group].NumRows)
	if err := t.readColumns(d.values[:], &d.pages, group); err != nil {
		return nil, err
	}
	if err := d.sameNulls(rows); err != nil {
		return nil, err
	}
	v := &d.values
	if err := t.coordinates(group, v[columnPartition].int32s(), v[columnOffset].integers, rows); err != nil {
		return nil, err
	}
	d.columns = vectorized.Columns{
		Rows: rows, Accepted: rows - v[columnReject].present, Offset: v[columnOffset].integers,
		Item: v[columnItem].coded(), Location: v[columnLocation].coded(), Kind: v[columnKind].coded(),
		TxnID: v[columnTxnID].strings(), Revision: v[columnRevision].integers, ValidTime: v[columnValidTime].integers,
		Qty: v[columnQty].integers, Reject: v[columnReject].coded(), RejectAt: v[columnReject].positions(),
	}
	return &d.columns, nil
}

// readColumns reads the wanted columns of a row group.
func (t *loadedFile) readColumns(values []columnReader, d *decompressor, group int) error {
	g := &t.groups[group]
	for i := range values {
		if t.lookup[i] >= len(g.Columns) {
			return fmt.Errorf("it has no column %s", t.wanted[i].name)
		}
		c, err := newChunk(t.data, &g.Columns[t.lookup[i]], t.optional[i], int(g.NumRows))
		if err == nil {
			err = values[i].read(c, t.wanted[i].kind, d)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", t.wanted[i].name, err)
		}
	}
	return nil
}

// rawDecoder decodes row groups into raw records. Its memory is reused.
type rawDecoder struct {
	values  [rawColumnCount]columnReader
	columns vectorized.RawColumns
	pages   decompressor
}

// Columns implements vectorized.RawDecoder. Coordinates are checked against the file's description.
func (d *rawDecoder) Columns(l vectorized.Loaded, group int) (*vectorized.RawColumns, error) {
	t, ok := l.(*loadedFile)
	if !ok {
		return nil, errType
	}
	err := guard(func() error {
		rows := int(t.groups[group].NumRows)
		if err := t.readColumns(d.values[:], &d.pages, group); err != nil {
			return err
		}
		v := &d.values
		offsets := v[rawColumnOffset].integers
		d.columns = vectorized.RawColumns{
			Rows: rows, Offset: offsets, Key: v[rawColumnKey].strings(), Value: v[rawColumnValue].strings(),
			KeyLevels: v[rawColumnKey].levels, ValueLevels: v[rawColumnValue].levels,
		}
		return t.coordinates(group, v[rawColumnPartition].int32s(), offsets, rows)
	})
	if err != nil {
		return nil, t.Fault(fmt.Errorf("row group %d: %w", group, err))
	}
	return &d.columns, nil
}

// errNulls says that a row is neither accepted nor rejected, or both.
var errNulls = errors.New("a row has a reject reason and a value, or neither")

// sameNulls checks that each row has either all values or a reject reason.
func (d *decoder) sameNulls(rows int) error {
	reject := &d.values[columnReject]
	some := reject.present > 0 && reject.present < rows
	if some {
		d.accepted = opposite(d.accepted, reject.levels)
	}
	for _, i := range ofAccepted {
		c := &d.values[i]
		if c.present != rows-reject.present {
			return fmt.Errorf("column %s: %w", typed[i].name, errNulls)
		}
		if !some || bytes.Equal(c.levels, d.accepted) {
			continue
		}
		for row, level := range d.accepted {
			if c.levels[row] != level {
				return fmt.Errorf("row %d, column %s: %w", row, typed[i].name, errNulls)
			}
		}
	}
	return nil
}

// opposite are levels that are 1 where others are 0.
func opposite(to, levels []byte) []byte {
	to = grow(to[:0], len(levels))
	at := 0
	for ; at+8 <= len(levels); at += 8 {
		binary.LittleEndian.PutUint64(to[at:], load(levels, at)^0x0101010101010101)
	}
	for ; at < len(levels); at++ {
		to[at] = levels[at] ^ 1
	}
	return to
}

// coordinates checks partition and offsets of a row group.
func (t *loadedFile) coordinates(group int, partition []int32, offset []int64, rows int) error {
	if len(partition) != rows || len(offset) != rows {
		return fmt.Errorf("%d partitions and %d offsets in %d rows", len(partition), len(offset), rows)
	}
	for _, p := range partition {
		if p != t.file.Partition {
			return fmt.Errorf("a row of partition %d", p)
		}
	}
	last := int64(-1)
	for i, o := range offset {
		if o <= last {
			return fmt.Errorf("offset %d in row %d is out of order", o, i)
		}
		last = o
	}
	first := t.firsts[group]
	low := t.file.FirstOffset + first // at least one offset for each row before and behind
	high := t.file.LastOffset - (t.file.Rows - first - int64(rows))
	begins, ends := group == 0, group == len(t.groups)-1
	if rows == 0 {
		return nil
	}
	if offset[0] < low || last > high || begins && offset[0] != low || ends && last != high {
		return fmt.Errorf("offsets %d to %d do not fit those of the file, %d to %d", offset[0], last, t.file.FirstOffset, t.file.LastOffset)
	}
	return t.inOrder(group, offset[0], last)
}

// inOrder checks that the offsets of a row group lie behind those of the groups before it and before those behind it.
// Groups are decoded in any order; of two neighbours the later one is compared.
func (t *loadedFile) inOrder(group int, first, last int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans[group] = span{true, first, last}
	for i := group - 1; i >= 0; i-- {
		if s := t.spans[i]; s.known && s.last >= first {
			return fmt.Errorf("offset %d is out of order: row group %d ends with %d", first, i, s.last)
		} else if s.known {
			break
		}
	}
	for i := group + 1; i < len(t.spans); i++ {
		if s := t.spans[i]; s.known && s.first <= last {
			return fmt.Errorf("offset %d is out of order: row group %d begins with %d", last, i, s.first)
		} else if s.known {
			break
		}
	}
	return nil
}
