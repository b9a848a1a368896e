package vectorized

import (
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// chunkRows is the size of a chunk: large enough that chunks are few, small enough that the last one of each bucket
	// may stay half empty.
	chunkRows = 256
	// slabChunks is how many chunks are taken from the allocator at a time: 2 MiB, which is a large page.
	slabChunks = 256
)

// Chunks keeps memory for rows: what stores give back is used again, so that a computation needs as much as its largest
// round. It is safe for concurrent use.
type Chunks struct {
	mem   memory.Allocator
	mu    sync.Mutex
	slabs [][]byte          // guarded by mu
	free  []*[chunkRows]Row // guarded by mu
}

// NewChunks returns an empty pool over an allocator; Release gives everything back to that.
func NewChunks(mem memory.Allocator) *Chunks { return &Chunks{mem: mem} }

// take returns a chunk with anything in it.
func (c *Chunks) take() *[chunkRows]Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		slab := c.mem.Allocate(slabChunks * chunkRows * RowBytes)
		c.slabs = append(c.slabs, slab)
		for rows := asRows(slab); len(rows) > 0; rows = rows[chunkRows:] {
			c.free = append(c.free, (*[chunkRows]Row)(rows))
		}
	}
	last := len(c.free) - 1
	chunk := c.free[last]
	c.free = c.free[:last]
	return chunk
}

// put takes chunks back.
func (c *Chunks) put(chunks []*[chunkRows]Row) {
	if len(chunks) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, chunks...)
}

// Release gives all memory back. No store may use it any more.
func (c *Chunks) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, slab := range c.slabs {
		c.mem.Free(slab)
	}
	c.slabs, c.free = nil, nil
}

// asRows views allocator memory as rows. Allocators align to more than a Row needs, and rows have no pointers.
func asRows(slab []byte) []Row {
	return unsafe.Slice((*Row)(unsafe.Pointer(unsafe.SliceData(slab))), len(slab)/RowBytes) //nolint:gosec // see above; decisions/0013
}
