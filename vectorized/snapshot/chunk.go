package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"
)

// chunk is one column of one row group in memory, and what is known of it.
type chunk struct {
	data     []byte // its pages, with slack behind them
	codec    format.CompressionCodec
	optional bool // values may be null
	rows     int
}

// newChunk finds a column chunk in a file.
func newChunk(file []byte, column *format.ColumnChunk, optional bool, rows int) (chunk, error) {
	m := &column.MetaData
	begin := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < begin {
		begin = d
	}
	size := m.TotalCompressedSize
	if begin < 0 || size < 0 || begin > int64(len(file)) || size > int64(len(file))-begin-slack || column.FilePath != "" {
		return chunk{}, errors.New("its pages do not lie in the file")
	}
	if m.NumValues != int64(rows) {
		return chunk{}, fmt.Errorf("%d values in a group of %d rows", m.NumValues, rows)
	}
	return chunk{file[begin : begin+size : begin+size+slack], m.Codec, optional, rows}, checkCodec(m.Codec)
}

// page is a page whose levels and values are separate and not compressed. Both have slack behind them.
type page struct {
	kind     format.PageType
	encoding format.Encoding
	rows     int
	nulls    int    // as the header says, -1 where it does not
	levels   []byte // empty where the column has none
	values   []byte
}

// errPage says that a page does not fit into its column.
var errPage = errors.New("a page does not fit its column")

// next reads the first page that is left of a chunk, checks it against its checksum, and decompresses it. A page of
// a kind that has no values is passed over.
func (c *chunk) next(d *decompressor) (page, error) {
	for {
		h, n, err := readPageHeader(c.data)
		if err != nil {
			return page{}, err
		}
		if int64(h.compressed) > int64(len(c.data)-n) {
			return page{}, errPage
		}
		end := n + int(h.compressed)
		body := c.data[n : end : end+slack]
		c.data = c.data[end:]
		if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
			return page{}, errors.New("the checksum of a page is not that of its bytes")
		}
		if h.kind != format.DataPage && h.kind != format.DictionaryPage && h.kind != format.DataPageV2 {
			continue
		}
		if !h.described {
			return page{}, errThrift
		}
		return c.open(d, &h, body)
	}
}

// open decompresses a page.
func (c *chunk) open(d *decompressor, h *pageHeader, body []byte) (page, error) {
	p := page{kind: h.kind, encoding: h.encoding, rows: int(h.values), nulls: -1}
	size := int(h.uncompressed)
	codec := c.codec
	if h.kind == format.DataPageV2 {
		levels := int(h.levelBytes)
		if h.repeatBytes != 0 || levels > len(body) || levels > size {
			return page{}, errPage
		}
		p.levels, p.nulls = body[:levels], int(h.nulls)
		body, size = body[levels:], size-levels
		if h.stored || len(body) == 0 { // nothing is not compressed
			codec = format.Uncompressed
		}
	}
	var err error
	if codec != format.Uncompressed {
		if body, err = d.page(codec, body, size); err != nil {
			return page{}, err
		}
	} else if len(body) != size {
		return page{}, errSize
	}
	p.values = body
	if h.kind == format.DataPage && c.optional {
		if err := p.split(h); err != nil {
			return page{}, err
		}
	}
	return p, nil
}

// split separates the levels of a page of version 1 from its values.
func (p *page) split(h *pageHeader) error {
	if h.levelEncoding != format.RLE {
		return fmt.Errorf("its levels are encoded as %v", h.levelEncoding)
	}
	if len(p.values) < 4 {
		return errPage
	}
	n := binary.LittleEndian.Uint32(p.values)
	if int64(n) > int64(len(p.values)-4) {
		return errPage
	}
	p.levels, p.values = p.values[4:4+n], p.values[4+n:]
	return nil
}
