package vectorized

// Store are rows by bucket, appended by one goroutine. Several stores may hold rows of one partition.
type Store struct {
	chunks  *Chunks
	number  int // of its arenas among those of its partition
	buckets []bucketStore
}

// bucketStore are the rows of one bucket.
type bucketStore struct {
	chunks [][]Row // all full but the last
	open   []Row   // the last chunk
	used   int     // rows of the last chunk
	arena  []byte
}

// NewStore is an empty store; number distinguishes it from the other stores of its partition.
func NewStore(chunks *Chunks, buckets, number int) *Store {
	return &Store{chunks: chunks, number: number, buckets: make([]bucketStore, buckets)}
}

// next returns the place of a bucket's next row.
func (s *Store) next(b *bucketStore) *Row {
	if b.used == len(b.open) {
		b.open, b.used = s.chunks.take(), 0
		b.chunks = append(b.chunks, b.open)
	}
	row := &b.open[b.used]
	b.used++
	return row
}

// rows is the number of rows of a bucket.
func (s *Store) rows(bucket int) int {
	b := &s.buckets[bucket]
	return max(0, len(b.chunks)-1)*chunkRows + b.used
}

// each calls visit for every run of a bucket's rows.
func (s *Store) each(bucket int, visit func(rows []Row)) {
	b := &s.buckets[bucket]
	for i, rows := range b.chunks {
		if i == len(b.chunks)-1 {
			rows = rows[:b.used]
		}
		visit(rows)
	}
}

// Release gives all chunks back to the pool.
func (s *Store) Release() {
	for i := range s.buckets {
		s.chunks.put(s.buckets[i].chunks)
		s.buckets[i] = bucketStore{}
	}
}
