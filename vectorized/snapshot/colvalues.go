package snapshot

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go/encoding"

	"amends.dev/amends/vectorized"
)

// pageBytes ends a page of text. A page of anything else holds a row group.
const pageBytes = 4 << 20

// columnData is a column of a row group.
type columnData struct {
	// levels are by row, 1 where there is a value and 0 where there is null; empty where no row is null.
	levels []byte
	// values are those that are there, codes are they in a column of few texts.
	values columnValues
	codes  *vectorized.Dictionary
}

// columnValues are the values of a column of a row group, nulls left out.
type columnValues interface {
	// count is their number.
	count() int
	// fit is the number of those from the given one on that belong into one page.
	fit(from int) int
	// encode encodes some of them over dst.
	encode(dst []byte, e encoding.Encoding, from, to int) ([]byte, error)
	// bounds are the lowest and the highest one, nil where none are told.
	bounds() (low, high []byte)
}

// The kinds of columnValues.
type (
	int32s []int32
	int64s []int64
	texts  vectorized.Strings
)

func (v int32s) count() int { return len(v) }

func (v int32s) fit(from int) int { return len(v) - from }

func (v int32s) encode(dst []byte, e encoding.Encoding, from, to int) ([]byte, error) {
	return e.EncodeInt32(dst, v[from:to])
}

func (v int32s) bounds() (low, high []byte) {
	if len(v) == 0 {
		return nil, nil
	}
	return binary.LittleEndian.AppendUint32(nil, uint32(slices.Min(v))), binary.LittleEndian.AppendUint32(nil, uint32(slices.Max(v)))
}

func (v int64s) count() int { return len(v) }

func (v int64s) fit(from int) int { return len(v) - from }

func (v int64s) encode(dst []byte, e encoding.Encoding, from, to int) ([]byte, error) {
	return e.EncodeInt64(dst, v[from:to])
}

func (v int64s) bounds() (low, high []byte) {
	if len(v) == 0 {
		return nil, nil
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(slices.Min(v))), binary.LittleEndian.AppendUint64(nil, uint64(slices.Max(v)))
}

func (v *texts) count() int { return (*vectorized.Strings)(v).Len() }

func (v *texts) fit(from int) int {
	left := v.count() - from
	if left <= 0 {
		return 0
	}
	end := uint64(v.Offsets[from]) + pageBytes
	return max(1, sort.Search(left, func(i int) bool { return uint64(v.Offsets[from+i+1]) > end }))
}

// encode takes lengths from the offsets and the rest as it lies there, which is what DELTA_LENGTH_BYTE_ARRAY wants.
func (v *texts) encode(dst []byte, e encoding.Encoding, from, to int) ([]byte, error) {
	if from == to {
		return e.EncodeByteArray(dst, nil, []uint32{0})
	}
	return e.EncodeByteArray(dst, v.Data[v.Offsets[from]:v.Offsets[to]], v.Offsets[from:to+1])
}

// bounds of texts are long, and nobody asks for a range of them.
func (v *texts) bounds() (low, high []byte) { return nil, nil }

// rowsOf is the number of rows in which so many values lie.
func rowsOf(levels []byte, values int) int {
	if len(levels) == 0 {
		return values
	}
	rows := 0
	for ; values > 0; rows++ {
		values -= int(levels[rows])
	}
	return rows
}
