package progress

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized"
)

// TestLine says phase, rate and what is left, the last only where the total is exact.
func TestLine(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	l := newLine(&out, func() time.Time { return at })
	l.Phase("generate", 1000)
	l.Add(200)
	at = at.Add(2 * time.Second)
	l.show()
	if got, want := out.String(), "\r\x1b[Kgenerate: 200 records of 1000, 100 records/s, 8s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Phase("recompute", 0)
	l.Add(300)
	at = at.Add(time.Second)
	if got, want := l.text(), "recompute: 300 records, 300 records/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	l.Stop()
	if out.String() != "\r\x1b[K" {
		t.Errorf("%q is left on the line", out.String())
	}
}

// TestNoTerminal shows nothing.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	l := Start(&app.App{Stderr: &out, Now: time.Now})
	l.Phase("generate", 1)
	l.Add(1)
	l.Stop()
	if l != nil || out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}

// parts is a source of which only the parts and loading matter.
type parts struct{ vectorized.Source }

func (parts) Parts() []vectorized.Part {
	return []vectorized.Part{{Partition: 0, Rows: 10}, {Partition: 0, Rows: 10}, {Partition: 3, Rows: 5}}
}

func (parts) Load(context.Context, int, []byte) (vectorized.Loaded, []byte, error) {
	return nil, nil, nil
}

// TestReadAgain counts the partitions that are read again; with one of them no total is exact.
func TestReadAgain(t *testing.T) {
	l := newLine(&bytes.Buffer{}, time.Now)
	load := func(s vectorized.Source, n ...int) {
		for _, i := range n {
			if _, _, err := s.Load(t.Context(), i, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, r := Typed(l, parts{}, 20*vectorized.RowBytes)
	load(s, 0, 1, 2)
	if partitions, most := r.Again(); partitions != 0 || most != 1 || l.total != 25 {
		t.Errorf("%d partitions, %d times, total %d", partitions, most, l.total)
	}
	s, r = Typed(l, parts{}, 20*vectorized.RowBytes-1)
	if held := r.Held(); held != 20*vectorized.RowBytes {
		t.Errorf("%d bytes held of partitions that were not divided", held)
	}
	load(s, 0, 1, 0, 1, 0, 1, 2)
	if held := r.Held(); held != 20*vectorized.RowBytes/3 {
		t.Errorf("%d bytes held of a partition in three pieces", held)
	}
	if partitions, most := r.Again(); partitions != 1 || most != 3 || l.total != 0 {
		t.Errorf("%d partitions, %d times, total %d", partitions, most, l.total)
	}
}

// TestHistory counts records.
func TestHistory(t *testing.T) {
	l := newLine(&bytes.Buffer{}, time.Now)
	h := History(l, func(context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for range 7 {
				if !yield(engine.Record{}, nil) {
					return
				}
			}
		}
	}, 7)
	for _, err := range h(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if l.rows.Load() != 7 || l.total != 7 {
		t.Errorf("%d of %d", l.rows.Load(), l.total)
	}
}
