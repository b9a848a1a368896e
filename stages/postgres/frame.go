package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"

	"amends.dev/amends/stages/broker"
)

// maxFramesBytes is the size, in bytes, that one packed outbox row grows to before the next one is started. A single
// larger message has a row of its own.
const maxFramesBytes = 4 << 20

// frameOverhead is the most that framing adds to a message of less than 2 MiB without headers.
const frameOverhead = 8

// errFrames says that a packed row does not hold what it says it holds.
var errFrames = errors.New("packed outbox row is damaged")

// Frame is one message as it is published: exact bytes, never rendered again (R19).
type Frame struct {
	Key, Value []byte
	Headers    []broker.Header
}

// appendFrame appends a message: key, value, number of headers, then key and value of each header. Every string of
// bytes is preceded by its length; lengths and the number are unsigned varints.
func appendFrame(dst []byte, f Frame) []byte {
	dst = appendBytes(dst, f.Key)
	dst = appendBytes(dst, f.Value)
	dst = binary.AppendUvarint(dst, uint64(len(f.Headers)))
	for _, h := range f.Headers {
		dst = appendBytes(dst, []byte(h.Key))
		dst = appendBytes(dst, h.Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// readFrames decodes a packed row of count messages. The messages share data's memory. Anything but exactly count
// well-formed messages is an error, so that a damaged row is never published in part.
func readFrames(data []byte, count int) ([]Frame, error) {
	if count < 0 || count > len(data) {
		return nil, fmt.Errorf("%w: %d messages in %d bytes", errFrames, count, len(data))
	}
	frames := make([]Frame, count)
	r := frameReader{rest: data}
	for i := range frames {
		frames[i] = r.frame()
		if r.bad {
			return nil, fmt.Errorf("%w: message %d of %d", errFrames, i+1, count)
		}
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after message %d", errFrames, len(r.rest), count)
	}
	return frames, nil
}

// frameReader reads from the front of rest; once bad, it stays bad.
type frameReader struct {
	rest []byte
	bad  bool
}

func (r *frameReader) frame() Frame {
	f := Frame{Key: r.bytes(), Value: r.bytes()}
	n := r.length()
	for range n {
		f.Headers = append(f.Headers, broker.Header{Key: string(r.bytes()), Value: r.bytes()})
	}
	return f
}

func (r *frameReader) bytes() []byte {
	n := r.length()
	if r.bad {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// length reads a number that counts something in the rest, each at least one byte long.
func (r *frameReader) length() int {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > uint64(len(r.rest)-size) {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// packed is one outbox row to be written.
type packed struct {
	first  int64
	count  int32
	frames []byte
}

// packer packs messages, in order, into rows that start at consecutive sequences.
type packer struct {
	next int64
	// expect is how many framed bytes are still to come, if that is known: rows are then allocated once and not grown.
	expect int
	rows   []packed
}

// add packs one message under the next sequence.
func (p *packer) add(f Frame) {
	size := len(f.Key) + len(f.Value)
	last := len(p.rows) - 1
	if last < 0 || len(p.rows[last].frames)+size > maxFramesBytes {
		p.rows = append(p.rows, packed{first: p.next, frames: make([]byte, 0, max(0, min(p.expect, maxFramesBytes+frameOverhead)))})
		last++
	}
	p.expect -= size + frameOverhead
	row := &p.rows[last]
	row.frames = appendFrame(row.frames, f)
	row.count++
	p.next++
}
