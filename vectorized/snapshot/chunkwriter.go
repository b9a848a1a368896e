package snapshot

import (
	"errors"
	"hash/crc32"

	pqthrift "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunkWriter writes one column of one row group.
type chunkWriter struct {
	file     *parquetFile
	layout   *columnLayout
	encoder  *encoder
	metadata format.ColumnMetaData
	pages    int32 // of data
}

// write writes the pages of a column.
func (w *chunkWriter) write(c *columnData, rows int) error {
	m := &w.metadata
	*m = format.ColumnMetaData{
		Type: w.layout.kind, Encoding: w.layout.encodings(), PathInSchema: []string{w.layout.name},
		Codec: w.layout.codec.CompressionCodec(), NumValues: int64(rows),
	}
	data := c.values
	if c.codes != nil {
		m.DictionaryPageOffset = w.file.size
		codes, entries, n := w.encoder.compact(c.codes)
		if err := w.dictionary(entries, n); err != nil {
			return err
		}
		data = codes
	} else {
		m.Statistics.MinValue, m.Statistics.MaxValue = data.bounds()
	}
	m.DataPageOffset = w.file.size
	m.Statistics.NullCount = int64(rows - data.count())
	for row, value := 0, 0; row < rows; {
		n := data.fit(value)
		size, levels := rows-row, c.levels
		if value+n < data.count() {
			size = rowsOf(c.levels, n)
		}
		if len(levels) > 0 {
			levels, c.levels = levels[:size], levels[size:]
		}
		if err := w.page(levels, data, size, value, n); err != nil {
			return err
		}
		row, value = row+size, value+n
	}
	m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{
		PageType: format.DataPageV2, Encoding: w.layout.encoding.Encoding(), Count: w.pages,
	})
	return nil
}

// dictionary writes the page of n texts that codes stand for.
func (w *chunkWriter) dictionary(entries []byte, n int32) error {
	body, err := w.encoder.compressEntries(w.layout.codec, entries)
	if err != nil {
		return err
	}
	w.metadata.EncodingStats = append(w.metadata.EncodingStats, format.PageEncodingStats{
		PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1,
	})
	return w.put(&format.PageHeader{
		Type: format.DictionaryPage, UncompressedPageSize: int32(len(entries)),
		DictionaryPageHeader: pqthrift.New(format.DictionaryPageHeader{NumValues: n, Encoding: format.Plain}),
	}, nil, body)
}

// page writes a page of rows, in which n values lie from the given one on.
func (w *chunkWriter) page(levels []byte, data columnValues, rows, value, n int) (err error) {
	e := w.encoder
	if w.layout.optional {
		if err := e.encodeLevels(levels, rows); err != nil {
			return err
		}
	} else {
		e.levels = e.levels[:0]
	}
	if e.plain, err = data.encode(e.plain, w.layout.encoding, value, value+n); err != nil {
		return err
	}
	body, compressed, err := e.compress(w.layout.codec, e.plain)
	if err != nil {
		return err
	}
	w.pages++
	return w.put(&format.PageHeader{
		Type: format.DataPageV2, UncompressedPageSize: int32(len(e.levels) + len(e.plain)),
		DataPageHeaderV2: pqthrift.New(format.DataPageHeaderV2{
			NumValues: int32(rows), NumNulls: int32(rows - n), NumRows: int32(rows), Encoding: w.layout.encoding.Encoding(),
			DefinitionLevelsByteLength: int32(len(e.levels)), IsCompressed: pqthrift.New(compressed),
		}),
	}, e.levels, body)
}

// put writes a page with its checksum.
func (w *chunkWriter) put(h *format.PageHeader, levels, body []byte) error {
	h.CompressedPageSize = int32(len(levels) + len(body))
	h.CRC = int32(crc32.Update(crc32.ChecksumIEEE(levels), crc32.IEEETable, body))
	header, err := pqthrift.Marshal(&pqthrift.CompactProtocol{}, h)
	if err != nil {
		return err
	}
	w.metadata.TotalUncompressedSize += int64(len(header)) + int64(h.UncompressedPageSize)
	w.metadata.TotalCompressedSize += int64(len(header)) + int64(h.CompressedPageSize)
	return errors.Join(w.file.write(header), w.file.write(levels), w.file.write(body))
}
