package recordfile

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/internal/mark"
)

// line collects the members of one line while it is read.
type line struct {
	record                  Record
	hasPartition, hasOffset bool
	key, value              source
}

// source is where a raw key or value comes from.
type source struct {
	// given: a member for it was there. taken: the one that gave bytes, empty for null.
	given bool
	taken string
}

// parseLine parses one line. jsontext rejects what encoding/json would let pass: invalid UTF-8, lone surrogates (which
// it would replace by U+FFFD and so change a record) and duplicate members.
func parseLine(text []byte) (Record, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if decoder.PeekKind() != '{' {
		if _, err := decoder.ReadToken(); err != nil {
			return Record{}, fmt.Errorf("not JSON: %w", err)
		}
		return Record{}, errors.New("not a JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return Record{}, fmt.Errorf("not JSON: %w", err)
	}
	var l line
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return Record{}, fmt.Errorf("not JSON: %w", err)
		}
		member := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return Record{}, fmt.Errorf("not JSON: %w", err)
		}
		if err := l.set(member, value); err != nil {
			return Record{}, err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return Record{}, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("not JSON: data after the object")
	}
	return l.finish()
}

// set takes over one member.
func (l *line) set(member string, value jsontext.Value) error {
	var err error
	switch member {
	case "topic":
		l.record.Topic, err = parseString(member, value)
	case "partition":
		var n int64
		n, err = parseInteger(member, value, 32)
		l.record.Partition, l.hasPartition = int32(n), true
	case "offset":
		l.record.Offset, err = parseInteger(member, value, 64)
		l.hasOffset = true
	case "ts":
		l.record.Timestamp, err = strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			err = fmt.Errorf(`"ts": want whole milliseconds, got %s`, excerpt(value))
		}
	case "key", "key_base64":
		err = l.key.parse(&l.record.Key, member, value)
	case "payload", "payload_base64":
		err = l.value.parse(&l.record.Value, member, value)
	}
	return err
}

// finish checks that nothing is missing.
func (l *line) finish() (Record, error) {
	switch {
	case !l.hasPartition:
		return Record{}, errors.New(`member "partition" is missing`)
	case !l.hasOffset:
		return Record{}, errors.New(`member "offset" is missing`)
	case !l.key.given:
		return Record{}, errors.New(`member "key" is missing (a null key is written as null)`)
	case !l.value.given:
		return Record{}, errors.New(`member "payload" is missing (a null value is written as null)`)
	}
	return l.record, nil
}

// parse parses a raw key or value into bytes. A null beside the base64 form is what tools leave that cannot print the
// bytes, and says nothing; a second member that gives bytes is an error.
func (s *source) parse(bytes *[]byte, member string, value jsontext.Value) error {
	s.given = true
	if value.Kind() == 'n' {
		return nil
	}
	if s.taken != "" {
		mark.Hit("R07 two members for one field")
		return fmt.Errorf("members %q and %q exclude each other", s.taken, member)
	}
	s.taken = member
	text, err := parseString(member, value)
	if err != nil {
		return err
	}
	raw := []byte(text)
	if member == "key_base64" || member == "payload_base64" {
		if raw, err = base64.StdEncoding.Strict().DecodeString(text); err != nil {
			return fmt.Errorf("%q: %w", member, err)
		}
	}
	*bytes = append([]byte{}, raw...) // empty, not nil, where there are no bytes
	return nil
}

// parseString parses a JSON string.
func parseString(member string, value jsontext.Value) (string, error) {
	if value.Kind() != '"' {
		return "", fmt.Errorf("%q: want a string, got %s", member, excerpt(value))
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", fmt.Errorf("%q: %w", member, err)
	}
	return string(text), nil
}

// parseInteger parses a plain JSON integer of at most the given bits that is not negative.
func parseInteger(member string, value jsontext.Value, bits int) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, bits)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: want a whole number of %d bits from 0 on, got %s", member, bits, excerpt(value))
	}
	return n, nil
}

// excerpt shortens a value for a message.
func excerpt(value jsontext.Value) string {
	const limit = 40
	if len(value) > limit {
		return string(value[:limit]) + "…"
	}
	return string(value)
}
