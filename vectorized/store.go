package vectorized

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// chunkRows is the size of a chunk: large enough that chunks are few, small enough that the last one of each bucket may
// stay half empty.
const chunkRows = 256

// Store are rows by bucket, appended by one goroutine. Several stores may hold rows of one partition.
type Store struct {
	mem     memory.Allocator
	number  int // of its arenas among those of its partition
	buckets []bucketStore
	rows    int64
}

// bucketStore are the rows of one bucket.
type bucketStore struct {
	chunks [][]byte // allocator memory of chunkRows rows each, all full but the last
	open   []Row    // the last chunk
	used   int      // rows of the last chunk
	arena  []byte
}

// NewStore is an empty store; number distinguishes it from the other stores of its partition.
func NewStore(mem memory.Allocator, buckets, number int) *Store {
	return &Store{mem: mem, number: number, buckets: make([]bucketStore, buckets)}
}

// Rows is the number of rows.
func (s *Store) Rows() int64 { return s.rows }

// next returns the place of a bucket's next row.
func (s *Store) next(b *bucketStore) *Row {
	if b.used == len(b.open) {
		chunk := s.mem.Allocate(chunkRows * RowBytes)
		b.chunks = append(b.chunks, chunk)
		b.open, b.used = asRows(chunk), 0
	}
	row := &b.open[b.used]
	b.used++
	s.rows++
	return row
}

// asRows views allocator memory as rows. Allocators align to more than a Row needs, and rows have no pointers.
func asRows(chunk []byte) []Row {
	return unsafe.Slice((*Row)(unsafe.Pointer(unsafe.SliceData(chunk))), len(chunk)/RowBytes)
}

// bucketRows is the number of rows of a bucket in memory.
func (s *Store) bucketRows(bucket int) int {
	b := &s.buckets[bucket]
	if len(b.chunks) == 0 {
		return 0
	}
	return (len(b.chunks)-1)*chunkRows + b.used
}

// each calls visit for every run of a bucket's rows.
func (s *Store) each(bucket int, visit func(rows []Row)) {
	b := &s.buckets[bucket]
	for i, chunk := range b.chunks {
		rows := asRows(chunk)
		if i == len(b.chunks)-1 {
			rows = rows[:b.used]
		}
		visit(rows)
	}
}

// free gives the memory of a bucket back. Different buckets may be freed by different goroutines.
func (s *Store) free(bucket int) {
	b := &s.buckets[bucket]
	for _, chunk := range b.chunks {
		s.mem.Free(chunk)
	}
	*b = bucketStore{}
}

// Release gives all memory back.
func (s *Store) Release() {
	for i := range s.buckets {
		s.free(i)
	}
}
