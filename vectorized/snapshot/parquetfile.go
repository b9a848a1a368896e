package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	pqthrift "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// parquetFile is one Parquet file being written, page by page: the Parquet library encodes and compresses, but takes
// rows only as values of 24 bytes each, which costs more than all the rest (docs/decisions/0014-own-pages.md).
type parquetFile struct {
	path   string
	file   file
	digest hash.Hash
	buffer *bufio.Writer
	layout *fileLayout
	size   int64 // so far
	rows   int64
	groups []format.RowGroup
}

// createParquet begins a file.
func createParquet(s storage, path string, layout func() (*fileLayout, error)) (*parquetFile, error) {
	l, err := layout()
	if err != nil {
		return nil, err
	}
	f, err := s.create(path)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{path: path, file: f, digest: sha256.New(), buffer: bufio.NewWriterSize(f, 1<<18), layout: l}
	if err := p.write([]byte(magic)); err != nil {
		return nil, errors.Join(err, f.Close(), s.remove(path))
	}
	return p, nil
}

// write digests and buffers a piece of the file.
func (p *parquetFile) write(data []byte) error {
	_, _ = p.digest.Write(data) // a hash never fails
	n, err := p.buffer.Write(data)
	p.size += int64(n)
	return err
}

// group writes a row group: a column for each of the layout.
func (p *parquetFile) group(e *encoder, rows int, columns []columnData) error {
	g := format.RowGroup{NumRows: int64(rows), FileOffset: p.size, Ordinal: int16(len(p.groups))}
	for i := range columns {
		l := &p.layout.columns[i]
		c := chunkWriter{file: p, layout: l, encoder: e}
		if err := c.write(&columns[i], rows); err != nil {
			return fmt.Errorf("column %s: %w", l.name, err)
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: c.metadata})
		g.TotalByteSize += c.metadata.TotalUncompressedSize
		g.TotalCompressedSize += c.metadata.TotalCompressedSize
	}
	p.groups, p.rows = append(p.groups, g), p.rows+int64(rows)
	return nil
}

// finish completes the file and makes it durable.
func (p *parquetFile) finish() error {
	err := p.footer()
	if err == nil {
		err = p.buffer.Flush()
	}
	if err == nil {
		err = p.file.Sync()
	}
	return errors.Join(err, p.file.Close())
}

// footer writes the metadata.
func (p *parquetFile) footer() error {
	m := p.layout.footer
	m.NumRows, m.RowGroups = p.rows, p.groups
	data, err := pqthrift.Marshal(&pqthrift.CompactProtocol{}, &m)
	if err != nil {
		return fmt.Errorf("write the metadata: %w", err)
	}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(data)))
	return p.write(append(data, magic...))
}

// sum is the digest of a complete file.
func (p *parquetFile) sum() string { return hex.EncodeToString(p.digest.Sum(nil)) }
