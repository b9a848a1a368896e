package vectorized

// Store are rows by bucket, appended by one goroutine. Several stores may hold rows of one partition.
type Store struct {
	chunks  *Chunks
	number  int // of its arenas among those of its partition
	ends    []end
	buckets []bucketStore
	records []uint32 // by place of a key, less the partition's first one
}

// end is where the next row of a bucket goes. The ends of all buckets lie together, as each row touches one.
type end struct {
	open *[chunkRows]Row // the last chunk
	used uint32          // rows of the last chunk; chunkRows where there is none
}

// bucketStore is the rest of one bucket.
type bucketStore struct {
	chunks  []*[chunkRows]Row // all full but the last
	arena   []byte
	numbers []Numbers
}

// NewStore is an empty store of a partition; number distinguishes it from the other stores of it.
func NewStore(chunks *Chunks, layout *Layout, partition int32, number int) *Store {
	buckets := layout.Buckets(partition)
	s := &Store{
		chunks: chunks, number: number, ends: make([]end, buckets), buckets: make([]bucketStore, buckets),
		records: make([]uint32, layout.parts[partition].keys),
	}
	for i := range s.ends {
		s.ends[i].used = chunkRows
	}
	return s
}

// next returns the place of a bucket's next row.
func (s *Store) next(bucket uint32) *Row {
	e := &s.ends[bucket]
	if e.used == chunkRows {
		s.grow(bucket)
	}
	row := &e.open[e.used%chunkRows]
	e.used++
	return row
}

// grow adds a chunk to a bucket.
func (s *Store) grow(bucket uint32) {
	b := &s.buckets[bucket]
	chunk := s.chunks.take()
	b.chunks = append(b.chunks, chunk)
	s.ends[bucket] = end{chunk, 0}
}

// each calls visit for every run of a bucket's rows.
func (s *Store) each(bucket int, visit func(rows []Row)) {
	b := &s.buckets[bucket]
	for i, chunk := range b.chunks {
		rows := chunk[:]
		if i == len(b.chunks)-1 {
			rows = rows[:s.ends[bucket].used]
		}
		visit(rows)
	}
}

// ReleaseBucket gives the chunks of a bucket back to the pool. Other goroutines may release other buckets meanwhile.
func (s *Store) ReleaseBucket(bucket int) {
	s.chunks.put(s.buckets[bucket].chunks)
	s.ends[bucket], s.buckets[bucket] = end{used: chunkRows}, bucketStore{}
}

// Release gives all chunks back to the pool; the store is empty again.
func (s *Store) Release() {
	for bucket := range s.buckets {
		s.ReleaseBucket(bucket)
	}
	clear(s.records)
}
