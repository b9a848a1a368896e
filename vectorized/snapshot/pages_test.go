package snapshot

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// written is a page as a test writes it; version 2 where kind says so.
type written struct {
	kind           format.PageType
	encoding       format.Encoding
	values         int32
	nulls          int32
	levels         []byte
	body           []byte // values, as the codec left them
	uncompressed   int    // bytes of values; 0 where body is not compressed
	crc            bool
	stored         bool
	levelEncoding  format.Encoding
	declareSize    int32 // instead of the true one
	declareValues  int32
	withoutDetails bool
}

// thriftWriter writes the compact protocol.
type thriftWriter struct {
	out  []byte
	last []int16
}

// number writes a field of 32 bits.
func (w *thriftWriter) number(id int16, v int32) {
	w.field(id, thriftInt32)
	w.out = binary.AppendVarint(w.out, int64(v))
}

// field begins a field.
func (w *thriftWriter) field(id int16, kind byte) {
	top := len(w.last) - 1
	w.out = append(w.out, byte(id-w.last[top])<<4|kind)
	w.last[top] = id
}

// open and close begin and end a struct.
func (w *thriftWriter) open() { w.last = append(w.last, 0) }

func (w *thriftWriter) close() {
	w.out = append(w.out, 0)
	w.last = w.last[:len(w.last)-1]
}

// append writes the page.
func (p *written) append(to []byte) []byte {
	body := p.body
	size := max(p.uncompressed, len(p.body))
	if p.uncompressed == 0 {
		size = len(p.body)
	}
	if p.kind == format.DataPageV2 {
		body, size = slices.Concat(p.levels, p.body), size+len(p.levels)
	}
	if p.declareSize != 0 {
		size = int(p.declareSize)
	}
	values := p.values
	if p.declareValues != 0 {
		values = p.declareValues
	}
	w := thriftWriter{}
	w.open()
	w.number(1, int32(p.kind))
	w.number(2, int32(size))
	w.number(3, int32(len(body)))
	if p.crc {
		w.number(4, int32(crc32.ChecksumIEEE(body)))
	}
	if !p.withoutDetails {
		w.field(map[format.PageType]int16{format.DataPage: 5, format.DictionaryPage: 7, format.DataPageV2: 8}[p.kind], thriftStruct)
		w.open()
		w.number(1, values)
		if p.kind == format.DataPageV2 {
			w.number(2, p.nulls)
			w.number(3, values)
			w.number(4, int32(p.encoding))
			w.number(5, int32(len(p.levels)))
			w.number(6, 0)
			w.field(7, map[bool]byte{true: thriftFalse, false: thriftTrue}[p.stored])
		} else {
			w.number(2, int32(p.encoding))
			w.number(3, int32(p.levelEncoding))
			w.number(4, int32(format.RLE))
		}
		w.close()
	}
	w.close()
	return append(append(to, w.out...), body...)
}

// v1 puts levels before the values, as version 1 has them.
func v1(levels, values []byte) []byte {
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels, values)
}

// readChunk reads a chunk of pages.
func readChunk(kind valueKind, codec format.CompressionCodec, optional bool, rows int, pages ...written) (*columnReader, error) {
	var data []byte
	for i := range pages {
		data = pages[i].append(data)
	}
	return readBytes(kind, codec, optional, rows, data)
}

// readBytes reads a chunk.
func readBytes(kind valueKind, codec format.CompressionCodec, optional bool, rows int, data []byte) (*columnReader, error) {
	var c columnReader
	var d decompressor
	err := c.read(chunk{padded(data), codec, optional, rows}, kind, &d)
	return &c, err
}

// readBack are the values of a reader, null as a dash.
func readBack(c *columnReader, kind valueKind) string {
	var all []string
	n := 0
	for row := range c.seen {
		if len(c.levels) > 0 && c.levels[row] == 0 {
			all = append(all, "-")
			continue
		}
		switch kind {
		case codeValue:
			all = append(all, string(c.dictionary.entries[c.small[n]]))
		default:
			all = append(all, string(c.data[c.offsets[n]:c.offsets[n+1]]))
		}
		n++
	}
	return strings.Join(all, " ")
}

// plain encodes texts.
func plain(texts ...string) []byte {
	var b []byte
	for _, t := range texts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(t))), t...)
	}
	return b
}

// TestPages reads chunks as any writer may lay them out: pages of both versions, dictionaries that some values are not
// in, pages without a value, with nulls only, and nulls that begin late.
func TestPages(t *testing.T) {
	dictionary := written{kind: format.DictionaryPage, encoding: format.Plain, values: 2, body: plain("a", "bb")}
	codes := []byte{1, 0b11, 0b110} // one bit: a group of eight, of which 0 1 1
	pages := []written{
		{kind: format.DataPageV2, encoding: format.RLEDictionary, values: 3, levels: []byte{3 << 1, 1}, body: codes, crc: true},
		{kind: format.DataPage, encoding: plainDictionary, levelEncoding: format.RLE, values: 3, body: v1([]byte{3 << 1, 1}, codes)},
		{kind: format.DataPage, encoding: format.Plain, levelEncoding: format.RLE, values: 0, body: v1(nil, nil)},
		{kind: format.IndexPage, body: []byte("passed over"), withoutDetails: true},
		{kind: format.DataPageV2, encoding: format.RLEDictionary, values: 2, nulls: 2, levels: []byte{2 << 1, 0}},
		{kind: format.DataPageV2, encoding: format.Plain, values: 3, nulls: 1, levels: []byte{3, 0b101}, body: plain("ccc", "a")},
		{kind: format.DataPageV2, encoding: format.Plain, values: 1, levels: []byte{1 << 1, 1}, body: plain("ccc"), stored: true},
	}
	all := append([]written{dictionary}, pages...)
	for _, kind := range []valueKind{codeValue, textValue} {
		c, err := readChunk(kind, format.Uncompressed, true, 12, all...)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := readBack(c, kind), "a bb bb a bb bb - - ccc - a ccc"; got != want || c.present != 9 {
			t.Errorf("kind %d: %s with %d present, want %s", kind, got, c.present, want)
		}
	}
	c, err := readChunk(codeValue, format.Uncompressed, true, 3, dictionary, pages[0])
	if err != nil || len(c.levels) != 0 || c.present != 3 {
		t.Errorf("without nulls: %v, %d levels", err, len(c.levels))
	}
	if _, err := readChunk(codeValue, format.Uncompressed, true, 0); err != nil {
		t.Errorf("without rows: %v", err)
	}
}

// TestPagesRefused refuses pages that contradict themselves or their chunk, each beside a twin that is read.
func TestPagesRefused(t *testing.T) {
	good := written{kind: format.DataPageV2, encoding: format.Plain, values: 2, levels: []byte{2 << 1, 1}, body: plain("a", "b"), crc: true}
	dictionary := written{kind: format.DictionaryPage, encoding: format.Plain, values: 1, body: plain("a")}
	if _, err := readChunk(textValue, format.Uncompressed, true, 2, dictionary, good); err != nil {
		t.Fatalf("the twin: %v", err)
	}
	changed := func(change func(p *written)) []written {
		p := good
		change(&p)
		return []written{dictionary, p}
	}
	for what, pages := range map[string][]written{
		"no pages":               {},
		"a page too many rows":   {good, good},
		"fewer rows":             changed(func(p *written) { p.values, p.levels, p.body = 1, []byte{1 << 1, 1}, plain("a") }),
		"another null count":     changed(func(p *written) { p.nulls = 1 }),
		"more nulls than values": changed(func(p *written) { p.nulls = 3 }),
		"levels end":             changed(func(p *written) { p.levels = []byte{1 << 1, 1} }),
		"a level of 2":           changed(func(p *written) { p.levels = []byte{2 << 1, 2} }),
		"values end":             changed(func(p *written) { p.body = plain("a") }),
		"a text is cut":          changed(func(p *written) { p.body = p.body[:len(p.body)-1] }),
		"another encoding":       changed(func(p *written) { p.encoding = 77 }),
		"an integer encoding":    changed(func(p *written) { p.encoding = format.DeltaBinaryPacked }),
		"no description":         changed(func(p *written) { p.withoutDetails = true }),
		"another size":           changed(func(p *written) { p.declareSize = 100 }),
		"negative values":        changed(func(p *written) { p.declareValues = -1 }),
		"values of the billions": changed(func(p *written) { p.declareValues = 1<<31 - 1 }),
		"two dictionaries":       {dictionary, dictionary, good},
		"no dictionary":          {{kind: format.DataPageV2, encoding: format.RLEDictionary, values: 2, levels: []byte{2 << 1, 1}, body: []byte{1, 2 << 1, 0}}},
		"a code outside":         {dictionary, {kind: format.DataPageV2, encoding: format.RLEDictionary, values: 2, levels: []byte{2 << 1, 1}, body: []byte{1, 2 << 1, 1}}},
		"levels in bits":         {{kind: format.DataPage, encoding: format.Plain, levelEncoding: format.BitPacked, values: 2, body: v1([]byte{3}, plain("a", "b"))}},
	} {
		if what == "a page too many rows" {
			pages = []written{{kind: good.kind, encoding: good.encoding, values: 3, levels: []byte{3 << 1, 1}, body: plain("a", "b", "c")}}
		}
		if c, err := readChunk(textValue, format.Uncompressed, true, 2, pages...); err == nil {
			t.Errorf("%s: read as %s", what, readBack(c, textValue))
		}
	}
	if _, err := readChunk(textValue, format.Uncompressed, true, 4, good, dictionary, good); !errors.Is(err, errDictionary) {
		t.Errorf("a late dictionary: %v", err)
	}
	bytes := good.append(nil)
	bytes[len(bytes)-1] ^= 1
	if _, err := readBytes(textValue, format.Uncompressed, true, 2, bytes); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestHugeSizes declares sizes that the bytes cannot hold: they are refused before memory is taken for them.
func TestHugeSizes(t *testing.T) {
	const huge = 1<<31 - 1
	header := func(minis, total uint64) []byte { // of deltas
		b := binary.AppendUvarint(nil, 128)
		return append(binary.AppendUvarint(binary.AppendUvarint(b, minis), total), 0)
	}
	grows := slices.Concat(mustDeltas(t, ramp(3000)), mustDeltas(t, slices.Repeat([]int32{1}, 3001)), make([]byte, 3001))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for what, c := range map[string]struct {
		kind  valueKind
		codec format.CompressionCodec
		page  written
	}{
		"zstd":         {int64Value, format.Zstd, written{declareSize: huge, encoding: format.Plain, body: []byte{0x28, 0xB5, 0x2F, 0xFD}}},
		"snappy":       {int64Value, format.Snappy, written{declareSize: huge, encoding: format.Plain, body: []byte{0xFF, 0xFF, 0xFF, 0xFF, 7}}},
		"lz4":          {int64Value, format.Lz4Raw, written{declareSize: huge, encoding: format.Plain, body: []byte{0xF0, 0xFF}}},
		"gzip":         {int64Value, format.Gzip, written{declareSize: huge, encoding: format.Plain, body: []byte{0x1F, 0x8B}}},
		"uncompressed": {int64Value, format.Uncompressed, written{declareSize: huge, encoding: format.Plain, body: []byte{1}}},
		"dictionary":   {textValue, format.Uncompressed, written{kind: format.DictionaryPage, encoding: format.Plain, declareValues: huge, body: []byte{1, 0, 0, 0, 9}}},
		"plain":        {int64Value, format.Uncompressed, written{encoding: format.Plain, body: []byte{1}}},
		"plain text":   {textValue, format.Uncompressed, written{encoding: format.Plain, body: binary.LittleEndian.AppendUint32(nil, huge)}},
		"deltas":       {int64Value, format.Uncompressed, written{encoding: format.DeltaBinaryPacked, body: header(4, huge)}},
		"mini blocks":  {int64Value, format.Uncompressed, written{encoding: format.DeltaBinaryPacked, body: header(1<<40, 5)}},
		"lengths":      {textValue, format.Uncompressed, written{encoding: format.DeltaLengthByteArray, body: header(4, huge)}},
		"prefixes":     {textValue, format.Uncompressed, written{encoding: format.DeltaByteArray, values: 3001, body: grows[:len(grows)-1]}},
	} {
		if c.page.kind != format.DictionaryPage {
			c.page.kind = format.DataPageV2
		}
		if c.page.values == 0 && c.page.declareValues == 0 {
			c.page.declareValues = huge
		}
		if _, err := readChunk(c.kind, c.codec, false, maxGroupRows, c.page); err == nil {
			t.Errorf("%s: read", what)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("%d bytes were allocated for pages of a few bytes", took)
	}
}

// ramp are the numbers from 0 to n.
func ramp(n int32) []int32 {
	all := make([]int32, n+1)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// mustDeltas encodes integers.
func mustDeltas(t *testing.T, values []int32) []byte {
	t.Helper()
	b, err := parquet.DeltaBinaryPacked.EncodeInt32(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHugeFooter refuses metadata whose lists are longer than their bytes, or that lies in itself too deep.
func TestHugeFooter(t *testing.T) {
	file := func(metadata []byte) []byte {
		b := append([]byte("PAR1"), metadata...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(metadata))), "PAR1"...)
	}
	if err := checkFooter(file([]byte{0x15, 2, 0x29, 0x25, 1, 1, 0})); err != nil { // a number, a list of two
		t.Fatalf("the twin: %v", err)
	}
	for what, data := range map[string][]byte{
		"nothing":        {},
		"longer":         append([]byte("PAR1"), 0xFF, 0xFF, 0xFF, 0x7F, 'P', 'A', 'R', '1'),
		"a list":         file([]byte{0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0}),
		"lists in lists": file(slices.Repeat([]byte{0x19}, 100)),
		"a text":         file([]byte{0x18, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0}),
		"a map":          file([]byte{0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0x88, 0}),
		"no end":         file([]byte{0x15, 2}),
		"a foreign type": file([]byte{0x1F, 2, 0}),
	} {
		if err := checkFooter(data); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}

// TestPagesDamage changes chunks without checksums in seeded ways: reading gives values or an error, never a panic, and
// memory stays bounded by what the chunk may hold.
func TestPagesDamage(t *testing.T) {
	deltas := mustDeltas(t, []int32{1, 5, -7, 1 << 30, 12, 0, 0, 3})
	lengths, _ := parquet.DeltaLengthByteArray.EncodeByteArray(nil, []byte("abcdefgh"), ramp8())
	prefixes, _ := parquet.DeltaByteArray.EncodeByteArray(nil, []byte("abcdefgh"), ramp8())
	levels := []byte{8 << 1, 1}
	zipped, err := parquet.Zstd.Encode(nil, plain("a", "a", "a", "a", "a", "a", "a", "a"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := parquet.Lz4Raw.Encode(nil, plain("a", "a", "a", "a", "a", "a", "a", "a"))
	if err != nil {
		t.Fatal(err)
	}
	dictionary := written{kind: format.DictionaryPage, encoding: format.Plain, values: 2, body: plain("a", "bb")}
	for i, seed := range []struct {
		kind  valueKind
		codec format.CompressionCodec
		pages []written
	}{
		{int32Value, format.Uncompressed, []written{{encoding: format.DeltaBinaryPacked, body: deltas}}},
		{int64Value, format.Uncompressed, []written{{encoding: format.DeltaBinaryPacked, body: deltas}}},
		{int64Value, format.Uncompressed, []written{{encoding: format.ByteStreamSplit, body: make([]byte, 64)}}},
		{textValue, format.Uncompressed, []written{{encoding: format.DeltaLengthByteArray, body: lengths}}},
		{textValue, format.Uncompressed, []written{{encoding: format.DeltaByteArray, body: prefixes}}},
		{textValue, format.Uncompressed, []written{dictionary, {encoding: format.RLEDictionary, body: []byte{1, 3, 0x5A}}}},
		{codeValue, format.Uncompressed, []written{dictionary, {encoding: format.RLEDictionary, body: []byte{1, 3, 0x5A}}}},
		{codeValue, format.Zstd, []written{{encoding: format.Plain, body: zipped, uncompressed: 40}}},
		{codeValue, format.Lz4Raw, []written{{encoding: format.Plain, body: packed, uncompressed: 40}}},
	} {
		var good []byte
		for j := range seed.pages {
			p := seed.pages[j]
			if p.kind != format.DictionaryPage {
				p.kind, p.values, p.levels = format.DataPageV2, 8, levels
			}
			good = p.append(good)
		}
		if _, err := readBytes(seed.kind, seed.codec, true, 8, good); err != nil {
			t.Fatalf("chunk %d: %v", i, err)
		}
		random := rand.New(rand.NewPCG(uint64(i), 13))
		for range 4000 {
			bad := slices.Clone(good)
			for range 1 + random.IntN(3) {
				switch at := random.IntN(len(bad)); random.IntN(3) {
				case 0:
					bad[at] ^= 1 << random.IntN(8)
				case 1:
					bad[at] = byte(random.IntN(256))
				default:
					bad[at] = 0xFF
				}
			}
			_, _ = readBytes(seed.kind, seed.codec, true, 8, bad[:len(bad)-random.IntN(2)])
		}
	}
}

// ramp8 are the ends of eight texts of one byte.
func ramp8() []uint32 { return []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8} }
