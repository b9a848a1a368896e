package snapshot

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/vectorized"
)

// encoder is the memory that it takes to encode a row group. It is used again, and for one goroutine.
type encoder struct {
	run                   Bulk // of decoded records
	levels, plain, packed []byte
	codes, seen           []int32
	partition             []int32
	accepted, rejected    []byte
}

// levelEncoding is that of levels of 0 and 1.
var levelEncoding = rle.Encoding{BitWidth: 1}

// encodeLevels encodes the levels of so many rows; there are none where no row is null.
func (e *encoder) encodeLevels(levels []byte, rows int) (err error) {
	if len(levels) == 0 { // one run of 1
		e.levels = append(binary.AppendUvarint(e.levels[:0], uint64(rows)<<1), 1)
		return nil
	}
	e.levels, err = levelEncoding.EncodeLevels(e.levels, levels)
	return err
}

// compress compresses a page of data. Nothing stays nothing, which such a page can say of itself.
func (e *encoder) compress(codec compress.Codec, page []byte) (packed []byte, compressed bool, err error) {
	if codec.CompressionCodec() == format.Uncompressed || len(page) == 0 {
		return page, false, nil
	}
	e.packed, err = codec.Encode(e.packed, page)
	return e.packed, true, err
}

// compressEntries compresses a page of a dictionary. It cannot say of itself that it is not compressed, and readers decompress
// it also where there is nothing in it (Polars): as an LZ4 block nothing is one token.
func (e *encoder) compressEntries(codec compress.Codec, page []byte) (packed []byte, err error) {
	switch codec.CompressionCodec() {
	case format.Uncompressed:
		return page, nil
	case format.Lz4Raw:
		if len(page) == 0 {
			return []byte{0}, nil
		}
	default:
	}
	e.packed, err = codec.Encode(e.packed, page)
	return e.packed, err
}

// compact numbers the texts of a column in the order in which they first occur, those that do not left out. It returns the
// new codes, and the texts as a dictionary page has them, with their number.
func (e *encoder) compact(d *vectorized.Dictionary) (codes int32s, entries []byte, n int32) {
	e.seen = grow(e.seen[:0], len(d.Values))
	clear(e.seen)
	e.codes = grow(e.codes[:0], len(d.Codes))
	e.plain = e.plain[:0]
	for i, code := range d.Codes {
		if e.seen[code] == 0 {
			n++
			e.seen[code] = n
			text := d.Values[code]
			e.plain = append(binary.LittleEndian.AppendUint32(e.plain, uint32(len(text))), text...)
		}
		e.codes[i] = e.seen[code] - 1
	}
	return e.codes, e.plain, n
}

// constant are n times a partition.
func (e *encoder) constant(partition int32, n int) int32s {
	if len(e.partition) < n || e.partition[0] != partition {
		e.partition = grow(e.partition[:0], n)
		for i := range e.partition {
			e.partition[i] = partition
		}
	}
	return e.partition[:n]
}

// divide returns the levels of the columns of accepted records and of that of rejected ones, which lie in the given rows.
func (e *encoder) divide(rejectAt []uint32, rows int) (accepted, rejected []byte) {
	e.rejected = grow(e.rejected[:0], rows)
	clear(e.rejected)
	if len(rejectAt) == 0 {
		return nil, e.rejected
	}
	e.accepted = grow(e.accepted[:0], rows)
	fillLevels(e.accepted, 1)
	for _, row := range rejectAt {
		e.accepted[row], e.rejected[row] = 0, 1
	}
	return e.accepted, e.rejected
}
