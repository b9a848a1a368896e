package ledger

import (
	"bytes"
	"testing"
)

// TestArenaKeepsTexts: a text that was handed out is never written over, also not one that fills its block exactly.
func TestArenaKeepsTexts(t *testing.T) {
	const size = 2 << 10
	for length := size - 1; length <= size+1; length++ {
		a := arena{block: make([]byte, 0, size)}
		want := bytes.Repeat([]byte{'a'}, length)
		first := a.close(append(a.open(), want...))
		second := a.close(append(a.open(), "bbbb"...))
		if !bytes.Equal(first, want) || string(second) != "bbbb" {
			t.Errorf("length %d: the first text was written over", length)
		}
	}
}
