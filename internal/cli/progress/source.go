package progress

import (
	"context"
	"iter"
	"sync/atomic"

	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized"
)

// Reading counts what is read of a source with parts.
type Reading struct {
	line  *Line
	parts []vectorized.Part
	loads []atomic.Int32
}

// newReading begins a phase. The total is exact where no partition has more rows than fit into the memory.
func newReading(l *Line, parts []vectorized.Part, memory int64) *Reading {
	r := &Reading{line: l, parts: parts, loads: make([]atomic.Int32, len(parts))}
	total, once := int64(0), true
	of := map[int32]int64{}
	for _, p := range parts {
		total += p.Rows
		of[p.Partition] += p.Rows
		once = once && (memory <= 0 || of[p.Partition]*vectorized.RowBytes <= memory)
	}
	if !once {
		total = 0
	}
	l.Phase("recompute", total)
	return r
}

// load notes that a part is read.
func (r *Reading) load(i int) { r.loads[i].Add(1) }

// Again tells how many partitions were read more than once, and how often that with the most was: a partition whose rows
// do not fit into memory is read again for the rest of its keys.
func (r *Reading) Again() (partitions, most int) {
	seen := map[int32]bool{}
	for i := range r.loads {
		n := int(r.loads[i].Load())
		most = max(most, n)
		if n > 1 {
			seen[r.parts[i].Partition] = true
		}
	}
	return len(seen), most
}

// Typed counts the records of a source of columns as they are read. Memory is that of the computation.
func Typed(l *Line, s vectorized.Source, memory int64) (vectorized.Source, *Reading) {
	r := newReading(l, s.Parts(), memory)
	return &typed{s, r}, r
}

// typed is a source that is counted.
type typed struct {
	vectorized.Source
	reading *Reading
}

// Load implements vectorized.Source.
func (s *typed) Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error) {
	s.reading.load(i)
	return s.Source.Load(ctx, i, buffer)
}

// NewDecoder implements vectorized.Source.
func (s *typed) NewDecoder() vectorized.Decoder {
	return &typedDecoder{s.Source.NewDecoder(), s.reading.line}
}

// typedDecoder is a decoder that is counted.
type typedDecoder struct {
	vectorized.Decoder
	line *Line
}

// Columns implements vectorized.Decoder.
func (d *typedDecoder) Columns(part vectorized.Loaded, group int) (*vectorized.Columns, error) {
	c, err := d.Decoder.Columns(part, group)
	if err == nil {
		d.line.Add(c.Rows)
	}
	return c, err
}

// Raw counts the records of a source of raw records as Typed does.
func Raw(l *Line, s vectorized.RawSource, memory int64) (vectorized.RawSource, *Reading) {
	r := newReading(l, s.Parts(), memory)
	return &raw{s, r}, r
}

// raw is a source that is counted.
type raw struct {
	vectorized.RawSource
	reading *Reading
}

// Load implements vectorized.RawSource.
func (s *raw) Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error) {
	s.reading.load(i)
	return s.RawSource.Load(ctx, i, buffer)
}

// NewDecoder implements vectorized.RawSource.
func (s *raw) NewDecoder() vectorized.RawDecoder {
	return &rawDecoder{s.RawSource.NewDecoder(), s.reading.line}
}

// rawDecoder is a decoder that is counted.
type rawDecoder struct {
	vectorized.RawDecoder
	line *Line
}

// Columns implements vectorized.RawDecoder.
func (d *rawDecoder) Columns(part vectorized.Loaded, group int) (*vectorized.RawColumns, error) {
	c, err := d.RawDecoder.Columns(part, group)
	if err == nil {
		d.line.Add(c.Rows)
	}
	return c, err
}

// History counts the records of a history; total is their number, 0 where it is not known.
func History(l *Line, h engine.History, total int64) engine.History {
	if l == nil {
		return h
	}
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		l.Phase("recompute", total)
		return func(yield func(engine.Record, error) bool) {
			for r, err := range h(ctx) {
				if err == nil {
					l.Add(1)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}
