package ownerconformance

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strictly decodes a value in which no member is unknown, repeated, missing or null, but for those that nullable names
// and those with omitempty, which may be missing. Numbers are whole and fit their type.
func strictly(raw jsontext.Value, into any) error {
	if err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	return complete(raw, reflect.TypeOf(into).Elem(), "")
}

// complete checks that every member that a type has is in the value, which was decoded into that type already.
func complete(raw jsontext.Value, t reflect.Type, at string) error {
	null := bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[jsontext.Value]() && !null { // looked at by its own reader
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if null {
			return fmt.Errorf("%s is null", orValue(at))
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(raw, &members); err != nil {
			return err
		}
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			member, there := members[name]
			below := strings.TrimPrefix(at+"."+name, ".")
			if !there {
				if options == "omitempty" {
					continue
				}
				return fmt.Errorf("%s is missing", below)
			}
			if nullable(t, name) && bytes.Equal(bytes.TrimSpace(member), []byte("null")) {
				continue
			}
			if err := complete(member, field.Type, below); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if null {
			return fmt.Errorf("%s is null", orValue(at))
		}
		var elements []jsontext.Value
		if err := json.Unmarshal(raw, &elements); err != nil {
			return err
		}
		for i, element := range elements {
			if err := complete(element, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	default:
		if null {
			return fmt.Errorf("%s is null", orValue(at))
		}
	}
	return nil
}

// nullable are the members for which null means something: no snapshot, no checkpoint to resume from.
func nullable(t reflect.Type, name string) bool {
	return t == reflect.TypeFor[image]() && name == "snapshot" || t == reflect.TypeFor[reconciliationCase]() && name == "resume_from"
}

// orValue names the whole value where there is no member.
func orValue(at string) string {
	if at == "" {
		return "the value"
	}
	return at
}

// loosely decodes the members that are asked for, whatever else is there.
func loosely(raw jsontext.Value, into any) error { return json.Unmarshal(raw, into) }
