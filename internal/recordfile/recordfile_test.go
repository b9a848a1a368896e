package recordfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
)

// collect reads everything, up to the first error.
func collect(text string) ([]Record, error) {
	var records []Record
	for record, err := range Read("f.jsonl", strings.NewReader(text)) {
		if err != nil {
			return records, err
		}
		records = append(records, record)
	}
	return records, nil
}

func TestR07KcatLines(t *testing.T) {
	text := `{"topic":"t","partition":0,"offset":3,"tstype":"create","ts":1767225600000,"broker":1,"headers":["a","b"],"key":"[\"007\",\"é\"]","payload":"{\"x\":\"\\ud800\"}"}` + "\r\n" +
		`{"partition":1,"offset":0,"key":null,"payload":null}` + "\n\n" +
		`{"topic":"t","partition":0,"offset":9,"ts":-1,"key":null,"key_base64":"AA==","payload_base64":"/wB7Ig=="}` + "\n" +
		`{"topic":"t","partition":1,"offset":1,"key":"","payload":"a\u0000b"}`
	got, err := collect(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Topic: "t", Partition: 0, Offset: 3, Timestamp: 1767225600000, Key: []byte(`["007","é"]`), Value: []byte(`{"x":"\ud800"}`)},
		{Partition: 1, Offset: 0},
		{Topic: "t", Partition: 0, Offset: 9, Timestamp: -1, Key: []byte{0}, Value: []byte{0xff, 0, '{', '"'}},
		{Topic: "t", Partition: 1, Offset: 1, Key: []byte{}, Value: []byte("a\x00b")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[3].Key == nil {
		t.Error("an empty key must not become a null key")
	}
}

func TestR07FileErrors(t *testing.T) {
	mark.Expect(t, "R07 two members for one field")
	good := `{"topic":"t","partition":0,"offset":3,"ts":1,"key":"k","payload":"v"}`
	if _, err := collect(good + "\n" + strings.Replace(good, "3", "4", 1)); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	edit := func(old, replacement string) string {
		next := strings.Replace(good, ":3", ":4", 1)
		if !strings.Contains(next, old) {
			t.Fatalf("no %q in the line", old)
		}
		return strings.Replace(next, old, replacement, 1)
	}
	cases := map[string]struct{ line, want string }{
		"invalid UTF-8":       {edit(`"v"`, "\"\xff\""), "UTF-8"},
		"lone surrogate":      {edit(`"v"`, `"\ud800"`), "surrogate"},
		"lone surrogate in a": {edit(`"k"`, `"k","other":"\udc00"`), "surrogate"},
		"syntax":              {`{"topic":`, "not JSON"},
		"array":               {`[1]`, "not a JSON object"},
		"trailing":            {edit(`}`, `} x`), "after the object"},
		"duplicate member":    {edit(`"k"`, `"k","key":"l"`), "duplicate"},
		"key twice":           {edit(`"k"`, `"k","key_base64":"AA=="`), "exclude each other"},
		"payload twice":       {edit(`"v"`, `"v","payload_base64":"AA=="`), "exclude each other"},
		"base64":              {edit(`"key":"k"`, `"key_base64":"A"`), "base64"},
		"key missing":         {edit(`"key"`, `"kex"`), `"key" is missing`},
		"payload missing":     {edit(`"payload"`, `"payloax"`), `"payload" is missing`},
		"partition missing":   {edit(`"partition"`, `"part"`), `"partition" is missing`},
		"offset missing":      {edit(`"offset"`, `"off"`), `"offset" is missing`},
		"partition float":     {edit(`"partition":0`, `"partition":0.5`), "whole number"},
		"partition huge":      {edit(`"partition":0`, `"partition":2147483648`), "whole number"},
		"offset negative":     {edit(`"offset":4`, `"offset":-1`), "whole number"},
		"offset string":       {edit(`"offset":4`, `"offset":"4"`), "whole number"},
		"ts":                  {edit(`"ts":1`, `"ts":null`), "milliseconds"},
		"key number":          {edit(`"k"`, `1`), "want a string"},
		"same offset":         {good, "offsets must rise"},
		"other topic":         {edit(`"topic":"t"`, `"topic":"u"`), "one topic"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			records, err := collect(good + "\n" + c.line + "\n" + good)
			var located *Error
			if !errors.As(err, &located) || located.Line != 2 || located.File != "f.jsonl" {
				t.Fatalf("want an error of line 2, got %v", err)
			}
			if !strings.HasPrefix(err.Error(), "f.jsonl:2: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %q", c.want, err)
			}
			if len(records) != 1 {
				t.Errorf("want the record before the fault, got %d", len(records))
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(`{"partition":0,"offset":0,"key":"k","payload":"v"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sequence := ReadFile(path)
	for range 2 {
		count := 0
		for _, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count != 1 {
			t.Errorf("want 1 record, got %d", count)
		}
	}
	for _, err := range ReadFile(path + ".absent") {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("want a missing file, got %v", err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"topic":"t","partition":0,"offset":3,"ts":1,"key":"k","payload":"v"}`))
	f.Add([]byte(`{"partition":0,"offset":3,"key_base64":"AA==","payload_base64":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := make(map[int32]int64)
		for record, err := range Read("f", bytes.NewReader(data)) {
			if err != nil {
				break
			}
			if previous, ok := last[record.Partition]; ok && previous >= record.Offset {
				t.Fatalf("offset %d after %d", record.Offset, previous)
			}
			last[record.Partition] = record.Offset
		}
	})
}
