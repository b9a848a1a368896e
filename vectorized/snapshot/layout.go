package snapshot

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// fileLayout is how the files of a kind are written.
type fileLayout struct {
	columns []columnLayout
	// footer is the metadata of a file without rows.
	footer format.FileMetaData
}

// columnLayout is how a column is written.
type columnLayout struct {
	name     string
	kind     format.Type
	encoding encoding.Encoding // of the values, or of the codes of a dictionary
	codec    compress.Codec
	optional bool
}

// fast is the codec of typed columns that are worth compressing and are read on each run.
var fast = &lz4.Codec{Level: lz4.Fastest}

// partLayout and rawLayout are those of typed and of raw files; the codec is that of columns whose tag names none.
var (
	partLayout = sync.OnceValues(func() (*fileLayout, error) { return newLayout(partSchema, fast) })
	rawLayout  = sync.OnceValues(func() (*fileLayout, error) { return newLayout(rawSchema, &parquet.Zstd) })
)

// newLayout is what a schema says. How it is described in a file is taken from one that the Parquet library writes.
func newLayout(schema *parquet.Schema, codec compress.Codec) (*fileLayout, error) {
	var empty bytes.Buffer
	if err := parquet.NewGenericWriter[any](&empty, schema).Close(); err != nil {
		return nil, fmt.Errorf("describe the schema: %w", err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		return nil, fmt.Errorf("describe the schema: %w", err)
	}
	l := &fileLayout{footer: *file.Metadata()}
	l.footer.CreatedBy = fmt.Sprintf("amends version %d (build snapshot)", Version)
	for _, field := range schema.Fields() {
		c := columnLayout{
			name: field.Name(), kind: format.Type(field.Type().Kind()), encoding: field.Encoding(), codec: field.Compression(),
			optional: field.Optional(),
		}
		if c.encoding == nil { // what the library takes for text
			c.encoding = &parquet.DeltaLengthByteArray
		}
		if c.codec == nil {
			c.codec = codec
		}
		if e := c.encoding.Encoding(); c.kind == format.ByteArray && e != format.DeltaLengthByteArray && e != format.RLEDictionary {
			return nil, fmt.Errorf("column %s: text is not written as %v", c.name, c.encoding)
		}
		l.columns = append(l.columns, c)
	}
	return l, nil
}

// dictionary reports whether the values are codes.
func (c *columnLayout) dictionary() bool { return c.encoding.Encoding() == format.RLEDictionary }

// encodings are those of all pages of a chunk, levels included.
func (c *columnLayout) encodings() []format.Encoding {
	var all []format.Encoding
	if c.dictionary() {
		all = append(all, format.Plain)
	}
	if c.optional {
		all = append(all, format.RLE)
	}
	return append(all, c.encoding.Encoding())
}
