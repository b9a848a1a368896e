package arrow

import (
	"syscall"

	"github.com/apache/arrow-go/v18/arrow/memory"
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
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // without them it is slower, and that is all
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
		_ = syscall.Munmap(b) // it refuses what came from the heap, which is the collector's
	}
}
