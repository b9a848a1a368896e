package arrow

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestPages takes memory of any size, writes to all of it, grows it and gives it back, what came from the heap included.
func TestPages(t *testing.T) {
	mem := memory.NewCheckedAllocator(pages{})
	defer mem.AssertSize(t, 0)
	for _, size := range []int{0, 1, 4097, 5 << 20} {
		b := mem.Allocate(size)
		if len(b) != size || bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }) {
			t.Fatalf("%d bytes, want %d zero ones", len(b), size)
		}
		for i := range b {
			b[i] = byte(i)
		}
		b = mem.Reallocate(size+10, b)
		for i := range size {
			if b[i] != byte(i) {
				t.Fatalf("byte %d of %d is lost", i, size)
			}
		}
		mem.Free(b)
	}
	pages{}.Free(make([]byte, 100))
}
