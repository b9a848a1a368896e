package postgres

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestChunks: what a goroutine writes is read byte for byte, however little is asked for at once; its error comes after
// what it wrote, and one that nobody reads ends.
func TestChunks(t *testing.T) {
	broken := errors.New("broken")
	for _, ends := range []error{nil, broken} {
		var want []byte
		for i := range 3 * copyAhead {
			want = append(want, bytes.Repeat([]byte{byte(i)}, 1+i%5)...)
		}
		r := startChunks(func(w *chunkWriter) error {
			for i := range 3 * copyAhead {
				if err := w.pass(append(w.chunk(), bytes.Repeat([]byte{byte(i)}, 1+i%5)...)); err != nil {
					return err
				}
			}
			return ends
		})
		got, err := io.ReadAll(iotest.OneByteReader(r))
		if !errors.Is(err, ends) || !bytes.Equal(got, want) {
			t.Errorf("%v, want %v: %x, want %x", err, ends, got, want)
		}
		if err := r.end(); !errors.Is(err, ends) {
			t.Errorf("at the end %v, want %v", err, ends)
		}
	}
	r := startChunks(func(w *chunkWriter) error {
		for {
			if err := w.pass(w.chunk()); err != nil {
				return err
			}
		}
	})
	for range 2 {
		if err := r.end(); err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
}
