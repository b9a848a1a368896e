package postgres

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/stages/broker"
)

// TestR19FramesRoundTrip: exact bytes come back, and a damaged row is refused as a whole.
func TestR19FramesRoundTrip(t *testing.T) {
	want := []Frame{
		{Key: []byte(`["a","b"]`), Value: []byte(`{"x":1}`)},
		{Key: []byte{}, Value: []byte{0, 255}, Headers: []broker.Header{{Key: "h", Value: nil}, {Key: "", Value: bytes.Repeat([]byte{7}, 300)}}},
	}
	var data []byte
	for _, f := range want {
		data = appendFrame(data, f)
	}
	got, err := readFrames(data, len(want))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Fatalf("undamaged twin: %v\n%s", err, diff)
	}
	for cut := range data {
		if _, err := readFrames(data[:cut], len(want)); !errors.Is(err, errFrames) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	for _, count := range []int{-1, 0, 1, 3, 1 << 30} {
		if _, err := readFrames(data, count); !errors.Is(err, errFrames) {
			t.Errorf("count %d: %v", count, err)
		}
	}
	if _, err := readFrames(append(bytes.Clone(data), 0), len(want)); !errors.Is(err, errFrames) {
		t.Errorf("trailing byte: %v", err)
	}
}

// TestR19PackerSplits: rows stay near their bound, sequences are consecutive, and a huge message stands alone.
func TestR19PackerSplits(t *testing.T) {
	p := packer{next: 41}
	sizes := []int{1 << 20, 1 << 20, 5 << 20, 10, 3 << 20, 3 << 20}
	for _, size := range sizes {
		p.add(Frame{Key: []byte("k"), Value: make([]byte, size)})
	}
	var counts []int32
	next := int64(41)
	for _, row := range p.rows {
		if row.first != next {
			t.Errorf("row starts at %d, want %d", row.first, next)
		}
		next += int64(row.count)
		counts = append(counts, row.count)
		if _, err := readFrames(row.frames, int(row.count)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]int32{2, 1, 2, 1}, counts); diff != "" || p.next != 47 {
		t.Errorf("next %d, rows %s", p.next, diff)
	}
}

// FuzzReadFrames: no input panics, and what decodes encodes to a row that decodes alike.
func FuzzReadFrames(f *testing.F) {
	f.Add(appendFrame(nil, Frame{Key: []byte("k"), Value: []byte("v"), Headers: []broker.Header{{}}}), 1)
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, 1)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		frames, err := readFrames(data, count)
		if err != nil {
			return
		}
		var again []byte
		for _, frame := range frames {
			again = appendFrame(again, frame)
		}
		twice, err := readFrames(again, count)
		if diff := cmp.Diff(frames, twice, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}
