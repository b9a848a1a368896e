// Package recordfile reads source histories from JSON lines as `kcat -C -J` prints them (design section 7, R07).
//
// One line is one record: an object with "partition" and "offset", with "key" or "key_base64" and with "payload" or
// "payload_base64" (a string, or null for a null key or value; a null beside a base64 form counts for nothing), and
// optionally "topic" and "ts". Other members, such as kcat's headers, tstype or broker, are ignored. A line that is not
// valid UTF-8 JSON of this shape is an error of the file, never a rejected record: bytes that JSON text cannot hold are
// written with the base64 forms.
package recordfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// MaxLineBytes is the longest accepted line, in bytes without its line break.
const MaxLineBytes = 256 << 20

// Record is one record of the file. Its slices are not shared with other records.
type Record struct {
	// Topic is the topic's name, empty where the line has none. All lines that name a topic name the same one.
	Topic string
	// Partition is at least 0.
	Partition int32
	// Offset is at least 0 and rises strictly within each partition; gaps are allowed.
	Offset int64
	// Timestamp is the broker's timestamp in milliseconds since the Unix epoch, 0 where the line has none.
	Timestamp int64
	// Key and Value are the raw bytes; nil is null and is distinct from empty.
	Key, Value []byte
}

// Error is a fault of the file at one line. It prints as file:line: cause.
type Error struct {
	// File is the name the file was opened under.
	File string
	// Line counts from 1.
	Line int
	// Err is what is wrong with the line.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReadFile yields the records of the file at path in file order. An error, an *Error where a line is at fault, is
// yielded last and ends the sequence. The file is opened anew by each iteration.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		file, err := os.Open(path) // the user names the file to read
		if err != nil {
			yield(Record{}, fmt.Errorf("open record file: %w", err))
			return
		}
		defer func() { _ = file.Close() }() // read only: closing loses nothing
		for record, err := range Read(path, file) {
			if !yield(record, err) {
				return
			}
		}
	}
}

// Read yields the records of r in order; name stands for the file in errors. It can be iterated once.
func Read(name string, r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), MaxLineBytes)
		lines.Split(splitLines)
		seen := history{last: make(map[int32]int64)}
		number := 0
		for lines.Scan() {
			number++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			record, err := parseLine(lines.Bytes())
			if err == nil {
				err = seen.add(record)
			}
			if err != nil {
				yield(Record{}, &Error{File: name, Line: number, Err: err})
				return
			}
			if !yield(record, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(Record{}, &Error{File: name, Line: number + 1, Err: fmt.Errorf("line is longer than %d bytes", MaxLineBytes)})
		} else if err != nil {
			yield(Record{}, fmt.Errorf("read record file %s: %w", name, err))
		}
	}
}

// splitLines splits at \n alone. bufio.ScanLines would also drop a carriage return, which JSON ignores anyway.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// history checks what must hold between the lines of one file.
type history struct {
	topic string
	last  map[int32]int64
}

// add accepts the next record or says why it cannot follow those before it.
func (h *history) add(record Record) error {
	if record.Topic != "" {
		if h.topic != "" && h.topic != record.Topic {
			return fmt.Errorf("topic %q after topic %q: a record file holds one topic", record.Topic, h.topic)
		}
		h.topic = record.Topic
	}
	if last, ok := h.last[record.Partition]; ok && record.Offset <= last {
		return fmt.Errorf("partition %d: offset %d after offset %d: offsets must rise", record.Partition, record.Offset, last)
	}
	h.last[record.Partition] = record.Offset
	return nil
}
