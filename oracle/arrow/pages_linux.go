package arrow

import (
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sys/unix"
)

// pages takes memory from the system, in large pages where there are any: rows go to some hundred places at a time, for
// which a processor remembers too few small pages. It lies outside Go's heap, so that the collector neither counts nor
// postpones for it. It is stateless and safe for concurrent use.
type pages struct{}

// defaultAllocator is the allocator of an Engine without one.
var defaultAllocator memory.Allocator = pages{}

// Allocate implements memory.Allocator. Memory is zero. Where the system gives none, it comes from Go's heap.
func (pages) Allocate(size int) []byte {
	if size == 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	// Where the system refuses either it is slower, and that is all. Without the second, rows are read before they are
	// written, and each page would be faulted twice.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
	return b
}

// Reallocate implements memory.Allocator.
func (p pages) Reallocate(size int, b []byte) []byte {
	grown := p.Allocate(size)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free implements memory.Allocator.
func (pages) Free(b []byte) {
	if len(b) > 0 {
		_ = unix.Munmap(b) // it refuses what came from the heap, which is the collector's
	}
}
