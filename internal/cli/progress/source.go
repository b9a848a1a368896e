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

// Held tells how many bytes the rows of a partition took at a time, at least: more than the memory where a partition cannot be
// divided as often as that asks for.
func (r *Reading) Held() int64 {
	rows, loads := map[int32]int64{}, map[int32]int64{}
	for i, p := range r.parts {
		rows[p.Partition] += p.Rows
		loads[p.Partition] = max(loads[p.Partition], int64(r.loads[i].Load()))
	}
	var most int64
	for p, n := range rows {
		most = max(most, n*vectorized.RowBytes/max(loads[p], 1))
	}
	return most
}

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
	return count(l, s, memory, func(c *vectorized.Columns) int { return c.Rows })
}

// Raw counts the records of a source of raw records as Typed does.
func Raw(l *Line, s vectorized.RawSource, memory int64) (vectorized.RawSource, *Reading) {
	return count(l, s, memory, func(c *vectorized.RawColumns) int { return c.Rows })
}

// count counts the records of a source by the rows of its columns.
func count[C any](l *Line, s vectorized.SourceOf[C], memory int64, rows func(*C) int) (vectorized.SourceOf[C], *Reading) {
	r := newReading(l, s.Parts(), memory)
	return &counted[C]{s, r, rows}, r
}

// counted is a source that is counted.
type counted[C any] struct {
	vectorized.SourceOf[C]
	reading *Reading
	rows    func(*C) int
}

// Load implements vectorized.SourceOf.
func (s *counted[C]) Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error) {
	s.reading.load(i)
	return s.SourceOf.Load(ctx, i, buffer)
}

// NewDecoder implements vectorized.SourceOf.
func (s *counted[C]) NewDecoder() vectorized.DecoderOf[C] {
	return &countedDecoder[C]{s.SourceOf.NewDecoder(), s.reading.line, s.rows}
}

// countedDecoder is a decoder that is counted.
type countedDecoder[C any] struct {
	vectorized.DecoderOf[C]
	line *Line
	rows func(*C) int
}

// Columns implements vectorized.DecoderOf.
func (d *countedDecoder[C]) Columns(part vectorized.Loaded, group int) (*C, error) {
	c, err := d.DecoderOf.Columns(part, group)
	if err == nil {
		d.line.Add(d.rows(c))
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
