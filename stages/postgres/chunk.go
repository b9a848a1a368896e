package postgres

import (
	"errors"
	"io"
)

// copyChunk is how many bytes are handed on at once, and copyAhead how many such chunks may be ahead of the connection.
const (
	copyChunk = 64 << 10
	copyAhead = 8
)

// errCopyEnded stops the encoding of rows that the server does not take any more.
var errCopyEnded = errors.New("the server ended the COPY")

// chunkWriter hands chunks of encoded rows on to a chunkReader.
type chunkWriter struct {
	full, free chan []byte
	stop       chan struct{}
}

// chunk returns memory for the next chunk.
func (w *chunkWriter) chunk() []byte {
	select {
	case b := <-w.free:
		return b[:0]
	default:
		return make([]byte, 0, copyChunk+copyChunk/8)
	}
}

// pass hands a chunk on; it waits while too many are ahead. The error is errCopyEnded where nobody reads any more.
func (w *chunkWriter) pass(b []byte) error {
	select {
	case w.full <- b:
		return nil
	case <-w.stop:
		return errCopyEnded
	}
}

// chunkReader reads what a goroutine writes. It implements io.Reader for one goroutine.
type chunkReader struct {
	w         *chunkWriter
	now, rest []byte
	stopped   bool
	done      chan struct{}
	err       error // of the goroutine, once done is closed
}

// startChunks starts a goroutine that writes chunks. The caller calls end.
func startChunks(write func(*chunkWriter) error) *chunkReader {
	w := &chunkWriter{full: make(chan []byte, copyAhead), free: make(chan []byte, copyAhead), stop: make(chan struct{})}
	r := &chunkReader{w: w, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = write(w)
		close(w.full)
	}()
	return r
}

// Read implements io.Reader. After the last chunk it returns the error of the goroutine, or io.EOF.
func (r *chunkReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.now != nil {
			select {
			case r.w.free <- r.now:
			default:
			}
			r.now = nil
		}
		chunk, ok := <-r.w.full
		if !ok {
			<-r.done
			if r.err != nil {
				return 0, r.err
			}
			return 0, io.EOF
		}
		r.now, r.rest = chunk, chunk
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// end stops the goroutine where it has not ended, waits for it, and returns its error, nil where it was only stopped. It may
// be called again.
func (r *chunkReader) end() error {
	if !r.stopped {
		r.stopped = true
		close(r.w.stop)
	}
	<-r.done
	if errors.Is(r.err, errCopyEnded) {
		return nil
	}
	return r.err
}
