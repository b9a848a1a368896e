package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// pageHeader is what a reader needs of a page's header, of either version.
type pageHeader struct {
	kind                     format.PageType
	compressed, uncompressed int32 // bytes of the page, without the header
	crc                      uint32
	hasCRC                   bool
	values, nulls            int32 // nulls are given by version 2 only
	encoding, levelEncoding  format.Encoding
	levelBytes, repeatBytes  int32 // version 2
	stored                   bool  // version 2: the values are not compressed, whatever the codec
	described                bool  // the part that belongs to the kind is there
}

// The types of Thrift's compact protocol.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// thriftDepth bounds how deep values may lie in each other; those of Parquet lie seven deep.
const thriftDepth = 16

// errThrift says that bytes are no Thrift of the compact protocol.
var errThrift = errors.New("damaged metadata")

// thrift reads the compact protocol. After an error all reads give zero; nothing is allocated.
type thrift struct {
	data []byte
	at   int
	err  error
}

// fail notes the first error.
func (t *thrift) fail() {
	if t.err == nil {
		t.err = errThrift
	}
	t.at = len(t.data)
}

// byte reads one byte.
func (t *thrift) byte() byte {
	if t.at >= len(t.data) {
		t.fail()
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

// uvarint reads an unsigned number.
func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		t.fail()
		return 0
	}
	t.at += n
	return v
}

// int32 reads a signed number of 32 bits.
func (t *thrift) int32() int32 {
	v, n := binary.Varint(t.data[t.at:])
	if n <= 0 || int64(int32(v)) != v {
		t.fail()
		return 0
	}
	t.at += n
	return int32(v)
}

// discard skips bytes.
func (t *thrift) discard(n uint64) {
	if n > uint64(len(t.data)-t.at) {
		t.fail()
		return
	}
	t.at += int(n)
}

// fields calls field for every field of a struct; it must read or skip the value.
func (t *thrift) fields(field func(id int16, kind byte)) {
	id := int16(0)
	for t.err == nil {
		b := t.byte()
		if b == 0 {
			return
		}
		if delta := b >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v := t.int32()
			if int32(int16(v)) != v {
				t.fail()
			}
			id = int16(v)
		}
		field(id, b&0xF)
	}
}

// skip passes over a value. A list of more items than there are bytes is an error.
func (t *thrift) skip(kind byte, depth int) {
	if depth == 0 {
		t.fail()
	}
	switch kind {
	case thriftTrue, thriftFalse: // the type is the value
	case thriftByte:
		t.discard(1)
	case thriftInt16, thriftInt32, thriftInt64:
		t.uvarint()
	case thriftDouble:
		t.discard(8)
	case thriftBinary:
		t.discard(t.uvarint())
	case thriftList, thriftSet:
		t.skipList(depth)
	case thriftMap:
		if n := t.uvarint(); n > 0 {
			kinds := t.byte()
			t.skipItems(n, depth, kinds>>4, kinds&0xF)
		}
	case thriftStruct:
		if t.err == nil {
			t.fields(func(_ int16, kind byte) { t.skip(kind, depth-1) })
		}
	default:
		t.fail()
	}
}

// skipList passes over a list.
func (t *thrift) skipList(depth int) {
	b := t.byte()
	n := uint64(b >> 4)
	if n == 0xF {
		n = t.uvarint()
	}
	t.skipItems(n, depth, b&0xF)
}

// skipItems passes over n items, each of values of some kinds. In a list even a boolean takes a byte.
func (t *thrift) skipItems(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.data)-t.at) {
		t.fail()
	}
	for ; n > 0 && t.err == nil; n-- {
		for _, kind := range kinds {
			if kind == thriftTrue || kind == thriftFalse {
				kind = thriftByte
			}
			t.skip(kind, depth-1)
		}
	}
}

// checkFooter checks that the metadata of a file is Thrift whose lists are no longer than their bytes allow. The Parquet
// library makes room for whatever length they declare.
func checkFooter(data []byte) error {
	const tail = 8 // length of the metadata and "PAR1"
	if len(data) < tail {
		return fmt.Errorf("%d bytes are no Parquet file", len(data))
	}
	end := len(data) - tail
	n := binary.LittleEndian.Uint32(data[end:])
	if uint64(n) > uint64(end) {
		return fmt.Errorf("%w: it has %d bytes, the file %d", errThrift, n, len(data))
	}
	t := thrift{data: data[end-int(n) : end]}
	t.skip(thriftStruct, thriftDepth)
	return t.err
}

// readPageHeader reads the header at the beginning of data and returns its length.
func readPageHeader(data []byte) (h pageHeader, n int, err error) {
	t := thrift{data: data}
	t.fields(func(id int16, kind byte) {
		switch {
		case id == 1 && kind == thriftInt32:
			h.kind = format.PageType(t.int32())
		case id == 2 && kind == thriftInt32:
			h.uncompressed = t.int32()
		case id == 3 && kind == thriftInt32:
			h.compressed = t.int32()
		case id == 4 && kind == thriftInt32:
			h.crc, h.hasCRC = uint32(t.int32()), true
		case id == 5 && kind == thriftStruct:
			h.dataPage(&t)
		case id == 7 && kind == thriftStruct:
			h.dictionaryPage(&t)
		case id == 8 && kind == thriftStruct:
			h.dataPageV2(&t)
		default:
			t.skip(kind, thriftDepth)
		}
	})
	if t.err == nil && (h.compressed < 0 || h.uncompressed < 0 || h.values < 0 || h.nulls < 0 || h.nulls > h.values ||
		h.levelBytes < 0 || h.repeatBytes < 0) {
		t.err = errThrift
	}
	return h, t.at, t.err
}

// dataPage reads what version 1 says of a data page.
func (h *pageHeader) dataPage(t *thrift) {
	h.described = true
	t.fields(func(id int16, kind byte) {
		switch {
		case id == 1 && kind == thriftInt32:
			h.values = t.int32()
		case id == 2 && kind == thriftInt32:
			h.encoding = format.Encoding(t.int32())
		case id == 3 && kind == thriftInt32:
			h.levelEncoding = format.Encoding(t.int32())
		default:
			t.skip(kind, thriftDepth)
		}
	})
}

// dictionaryPage reads what is said of a dictionary.
func (h *pageHeader) dictionaryPage(t *thrift) {
	h.described = true
	t.fields(func(id int16, kind byte) {
		switch {
		case id == 1 && kind == thriftInt32:
			h.values = t.int32()
		case id == 2 && kind == thriftInt32:
			h.encoding = format.Encoding(t.int32())
		default:
			t.skip(kind, thriftDepth)
		}
	})
}

// dataPageV2 reads what version 2 says of a data page.
func (h *pageHeader) dataPageV2(t *thrift) {
	h.described = true
	h.levelEncoding = format.RLE
	t.fields(func(id int16, kind byte) {
		switch {
		case id == 1 && kind == thriftInt32:
			h.values = t.int32()
		case id == 2 && kind == thriftInt32:
			h.nulls = t.int32()
		case id == 5 && kind == thriftInt32:
			h.levelBytes = t.int32()
		case id == 6 && kind == thriftInt32:
			h.repeatBytes = t.int32()
		case id == 4 && kind == thriftInt32:
			h.encoding = format.Encoding(t.int32())
		case id == 7 && (kind == thriftTrue || kind == thriftFalse):
			h.stored = kind == thriftFalse
		default:
			t.skip(kind, thriftDepth)
		}
	})
}
