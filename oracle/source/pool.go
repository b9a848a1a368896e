package source

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pool keeps the memory of fetched batches for later ones: a record of a history is valid until the next one only. It is safe
// for concurrent use.
type pool struct {
	records sync.Pool // *[]kgo.Record
	bytes   sync.Pool // *[]byte
}

var (
	_ kgo.PoolRecords         = (*pool)(nil)
	_ kgo.PoolDecompressBytes = (*pool)(nil)
)

// GetRecords implements kgo.PoolRecords.
func (p *pool) GetRecords(n int) []kgo.Record {
	if kept, ok := p.records.Get().(*[]kgo.Record); ok && cap(*kept) >= n {
		return *kept
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords implements kgo.PoolRecords.
func (p *pool) PutRecords(records []kgo.Record) { p.records.Put(&records) }

// GetDecompressBytes implements kgo.PoolDecompressBytes. A slice that is too small is replaced by one that is not.
func (p *pool) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	if kept, ok := p.bytes.Get().(*[]byte); ok {
		return *kept
	}
	return nil
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (p *pool) PutDecompressBytes(bytes []byte) { p.bytes.Put(&bytes) }
