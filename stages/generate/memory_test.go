package generate_test

import (
	"runtime"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/generate"
)

// TestMemoryDoesNotGrow: a stream that is five times as long holds no more, once its sample of transactions is full.
func TestMemoryDoesNotGrow(t *testing.T) {
	mark.Expect(t, "generate.5 sample is full")
	o := generate.Defaults()
	o.Count = 1_000_000
	s := mustStream(t, demo(t), o)
	held := func(records int) int64 {
		for range records {
			if _, ok := s.Next(); !ok {
				t.Fatal("the stream ended early")
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	first := held(200_000)
	last := held(800_000)
	runtime.KeepAlive(s)
	if grown := last - first; grown > 8<<20 {
		t.Errorf("after 200,000 records the heap holds %d bytes, after 1,000,000 %d more", first, grown)
	}
}
