package intake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/stages/durability"
)

// WaitMax bounds how long an answer may be delayed (R33).
const WaitMax = 30 * time.Second

// Body is the body of a submission.
type Body struct {
	RequestID string
	// Transaction is the JSON value as sent, byte for byte: it becomes the record's value.
	Transaction []byte
	// Marker is the durability_request, nil where there is none.
	Marker *durability.Marker
	// Wait delays the answer until the worker has decided, at most so long; 0 does not.
	Wait time.Duration
	// DeliverTo is the topic that is to receive the worker's decision, empty where none is.
	DeliverTo string
	// Validate decodes the transaction before anything is done; without it a bad one ends in quarantine.
	Validate bool
}

// ParseBody reads a submission strictly: unknown, repeated and null members, a second value and text that is not UTF-8
// are errors, each in one line. What is inside the transaction is not looked at, but must be JSON.
func ParseBody(text []byte) (Body, error) {
	b := Body{Validate: true}
	if !utf8.Valid(text) {
		return b, errors.New("the body is not UTF-8")
	}
	err := object(text, func(name string, value jsontext.Value) error {
		switch name {
		case "request_id":
			return stringMember(value, name, &b.RequestID)
		case "transaction":
			b.Transaction = bytes.Clone(value)
			return nil
		case "durability_request":
			return b.marker(value)
		case "wait":
			var wait string
			if err := stringMember(value, name, &wait); err != nil {
				return err
			}
			var err error
			b.Wait, err = ParseWait(wait)
			return err
		case "deliver_to":
			if err := stringMember(value, name, &b.DeliverTo); err != nil {
				return err
			}
			if b.DeliverTo == "" {
				return errors.New("deliver_to is empty")
			}
			return nil
		case "validate":
			return boolMember(value, name, &b.Validate)
		}
		return fmt.Errorf("unknown member %q", name)
	})
	switch {
	case err != nil:
		return b, err
	case b.Transaction == nil:
		return b, errors.New("transaction is missing")
	case b.RequestID == "":
		return b, errors.New("request_id is missing or empty")
	case !ValidRequestID(b.RequestID):
		return b, fmt.Errorf("request_id must have 1 to %d bytes without control characters, and be no path segment of dots alone", RequestIDMax)
	}
	return b, nil
}

// marker reads a durability_request.
func (b *Body) marker(value jsontext.Value) error {
	m, given := durability.Marker{}, false
	err := object(value, func(name string, value jsontext.Value) error {
		switch name {
		case "level":
			given = true
			return stringMember(value, name, (*string)(&m.Level))
		case "must_have":
			return boolMember(value, name, &m.MustHave)
		}
		return fmt.Errorf("unknown member %q", name)
	})
	if err == nil && !given {
		err = errors.New("level is missing")
	}
	if err != nil {
		return fmt.Errorf("durability_request: %w", err)
	}
	b.Marker = &m
	return nil
}

// ParseWait reads a duration such as 10s, from 0 to WaitMax.
func ParseWait(text string) (time.Duration, error) {
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > WaitMax {
		return 0, fmt.Errorf("wait %q: want a duration from 0s to %s", text, WaitMax)
	}
	return wait, nil
}

// PeekMarker finds the durability_request of a body that is refused before it is parsed, or that cannot be: every answer
// to a request with a marker says so (R30). It reads as far as the text is JSON. Where the marker has no readable level
// the level is empty. nil means that no marker was seen.
func PeekMarker(text []byte) *durability.Marker {
	var found *durability.Marker
	// The error is another's to report: what was found until then counts.
	_ = object(text, func(name string, value jsontext.Value) error {
		if name != "durability_request" || found != nil {
			return nil
		}
		found = &durability.Marker{}
		_ = object(value, func(name string, value jsontext.Value) error {
			switch name {
			case "level":
				return stringMember(value, name, (*string)(&found.Level))
			case "must_have":
				return boolMember(value, name, &found.MustHave)
			}
			return nil
		})
		return nil
	})
	return found
}

// names is a set of names, cheap while they are few.
type names struct {
	few   [8]string
	count int
	more  map[string]struct{}
}

// add reports whether the name is a new one.
func (s *names) add(name string) bool {
	if _, repeated := s.more[name]; repeated || slices.Contains(s.few[:s.count], name) {
		return false
	}
	switch {
	case s.count < len(s.few):
		s.few[s.count] = name
		s.count++
	case s.more == nil:
		s.more = map[string]struct{}{name: {}}
	default:
		s.more[name] = struct{}{}
	}
	return true
}

// object calls visit for every member of the only value of a text, which must be an object without repeated names.
// Values keep their bytes.
func object(text []byte, visit func(name string, value jsontext.Value) error) error {
	// Of a buffer the decoder makes no copy.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return errors.New("want a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	var seen names
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		if !seen.add(name) {
			return fmt.Errorf("member %q is repeated", name)
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// stringMember reads a string that is text: no lone surrogates.
func stringMember(value jsontext.Value, name string, to *string) error {
	if value.Kind() != '"' {
		return fmt.Errorf("%s is not a string", name)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return fmt.Errorf("%s is not text: %w", name, err)
	}
	*to = string(text)
	return nil
}

// boolMember reads true or false.
func boolMember(value jsontext.Value, name string, to *bool) error {
	if kind := value.Kind(); kind != 't' && kind != 'f' {
		return fmt.Errorf("%s is neither true nor false", name)
	}
	*to = value.Kind() == 't'
	return nil
}
