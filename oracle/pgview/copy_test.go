package pgview

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/compare"
)

// field is a value as COPY writes it; null where it is nil.
func field(value []byte) []byte {
	if value == nil {
		return binary.BigEndian.AppendUint32(nil, math.MaxUint32)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(value))), value...)
}

// copyOf is a COPY of rows of values.
func copyOf(rows ...[][]byte) []byte {
	data := append([]byte(copySignature), make([]byte, 8)...)
	for _, row := range rows {
		data = binary.BigEndian.AppendUint16(data, uint16(len(row)))
		for _, value := range row {
			data = append(data, field(value)...)
		}
	}
	return append(data, 0xff, 0xff)
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func date(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// keysOfCopy are so that item and location side by side are the same letters.
var keysOfCopy = []manifests.StockKey{{Item: "a", Location: "bc"}, {Item: "ab", Location: "c"}, {Item: "ab", Location: ""}}

// read hands a COPY over in messages of a size.
func read(data []byte, size int) ([]compare.Fact, *copyReader) {
	var facts []compare.Fact
	c := &copyReader{key: namesOf(keysOfCopy).key, yield: func(f compare.Fact) bool {
		facts = append(facts, f)
		return true
	}}
	for len(data) > 0 && c.failed == nil {
		n := min(size, len(data))
		message := append([]byte{}, data[:n]...)
		_, _ = c.Write(message)
		clear(message) // the driver uses it again
		data = data[n:]
	}
	return facts, c
}

// TestCopyIsReadInAnyMessages: however the server divides it, a COPY has the same facts.
func TestCopyIsReadInAnyMessages(t *testing.T) {
	data := copyOf(
		[][]byte{[]byte("a"), []byte("bc"), date(-daysBefore), number(-5)},
		[][]byte{[]byte("ab"), []byte("c"), date(9497), number(math.MaxInt64), number(7)},
		[][]byte{[]byte("ab"), {}, date(math.MaxInt32), number(math.MinInt64)},
		[][]byte{[]byte("abc"), {}, date(math.MinInt32), number(0)},
	)
	want := []compare.Fact{
		{Key: 0, Day: 0, Close: -5}, {Key: 1, Day: 20_454, Close: math.MaxInt64, Threshold: 7},
		{Key: 2, Day: compare.EndOfTime, Close: math.MinInt64}, {Key: -1, Item: "abc", Day: compare.BeginningOfTime},
	}
	for size := 1; size <= len(data); size++ {
		facts, c := read(data, size)
		if diff := cmp.Diff(want, facts); diff != "" || c.failed != nil || !c.ended {
			t.Fatalf("messages of %d bytes: %v, ended %t\n%s", size, c.failed, c.ended, diff)
		}
	}
	for end := range data { // no cut is taken for an end
		if _, c := read(data[:end], len(data)); c.ended {
			t.Errorf("cut at %d of %d bytes: taken for whole", end, len(data))
		}
	}
}

// TestCopyOfOtherRows: what no view of ours shows is an error, and no fact.
func TestCopyOfOtherRows(t *testing.T) {
	right := [][]byte{[]byte("a"), []byte("bc"), date(1), number(1)}
	if facts, c := read(copyOf(right), 1000); c.failed != nil || len(facts) != 1 {
		t.Fatalf("the undamaged twin: %v, %v", facts, c.failed)
	}
	for name, row := range map[string][][]byte{
		"null item": {nil, []byte("bc"), date(1), number(1)}, "null close": {[]byte("a"), []byte("bc"), date(1), nil},
		"a time for a day": {[]byte("a"), []byte("bc"), number(1), number(1)}, "a small close": {[]byte("a"), []byte("bc"), date(1), date(1)},
		"three columns": right[:3], "six columns": append(append([][]byte{}, right...), number(1), number(1)),
		"a small threshold": append(append([][]byte{}, right...), date(1)),
	} {
		if facts, c := read(copyOf(row), 1000); !errors.Is(c.failed, errRow) || len(facts) > 0 {
			t.Errorf("%s: %v, %v", name, facts, c.failed)
		}
	}
	text := []byte("a\tbc\t2026-01-01\t1\nb\tbc\t2026-01-01\t1\n")
	if _, c := read(text, 1000); !errors.Is(c.failed, errCopy) {
		t.Errorf("the text format: %v", c.failed)
	}
	if _, c := read(append(copyOf(right), 1), 1000); !errors.Is(c.failed, errCopy) {
		t.Errorf("more behind the trailer: %v", c.failed)
	}
}

// TestCopyByNumbers: rows that begin with a key's number get the key that it stands for, also one that is not configured or
// has no name.
func TestCopyByNumbers(t *testing.T) {
	n := &numbers{dense: []int32{-1, -1, -1}, others: map[int32]compare.Fact{}}
	foreign := compare.Fact{Key: -1, Item: "x", Location: "y"}
	for id, key := range map[int32]compare.Fact{0: {Key: 2}, 1: foreign, 99: {Key: 1}, -5: {Key: 0}} {
		if !n.set(id, key) || n.set(id, key) {
			t.Errorf("number %d: not taken, or taken twice", id)
		}
	}
	var got []compare.Fact
	c := &copyReader{key: n.key, yield: func(f compare.Fact) bool { got = append(got, f); return len(got) < 6 }}
	var rows [][][]byte
	for _, id := range []int32{0, 1, 99, -5, 2, 100, 0} {
		rows = append(rows, [][]byte{date(id), date(1), number(int64(id))})
	}
	_, _ = c.Write(copyOf(rows...))
	day := int32(daysBefore + 1)
	want := []compare.Fact{
		{Key: 2, Day: day}, {Key: -1, Item: "x", Location: "y", Day: day, Close: 1}, {Key: 1, Day: day, Close: 99}, {Key: 0, Day: day, Close: -5},
		{Key: -1, Location: "key_id 2", Day: day, Close: 2}, {Key: -1, Location: "key_id 100", Day: day, Close: 100},
	}
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(c.failed, errUnwanted) {
		t.Errorf("%v\n%s", c.failed, diff)
	}
	for _, row := range [][][]byte{{nil, date(1), number(1)}, {number(1), date(1), number(1)}, {date(1), date(1)}, {date(1), date(1), nil}} {
		c := &copyReader{key: n.key, yield: func(compare.Fact) bool { return true }}
		if _, err := c.Write(copyOf(row)); !errors.Is(err, errRow) {
			t.Errorf("%v: %v", row, err)
		}
	}
}
