package synthetic

import (
	"bytes"
	"slices"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized"
)

// fault is a way to spoil a record.
type fault struct {
	reason decode.Reason
	// value and key spoil what a sender made of a good record.
	value, key func(good []byte) []byte
	// early moves the record before the ledger origin.
	early bool
}

// replaced replaces the first occurrence of a piece of a value that every good one of a NEW has.
func replaced(piece, by string) func(good []byte) []byte {
	return func(good []byte) []byte { return bytes.Replace(good, []byte(piece), []byte(by), 1) }
}

// tooLarge gives a value a quantity that does not fit 64 bits.
func tooLarge(good []byte) []byte {
	before, after, _ := bytes.Cut(good, []byte(`"qty":`))
	return slices.Concat(before, []byte(`"qty":9223372036854775808`), after[bytes.IndexByte(after, ','):])
}

// faults are what goes wrong where many senders write to one topic.
var faults = []fault{
	{reason: decode.InvalidJSON, value: func([]byte) []byte { return nil }},
	{reason: decode.InvalidJSON, value: func(good []byte) []byte { return good[:len(good)/2] }},
	{reason: decode.DuplicateField, value: replaced(`"qty":`, `"qty":0,"qty":`)},
	{reason: decode.UnknownField, value: replaced(`"qty":`, `"note":"recount","qty":`)},
	{reason: decode.MissingField, value: replaced(`,"kind":"NEW"`, ``)},
	{reason: decode.WrongType, value: replaced(`"revision":1`, `"revision":"1"`)},
	{reason: decode.InvalidTxnID, value: replaced(`"TX-`, `"\u0000TX-`)},
	{reason: decode.RevisionOutOfRange, value: replaced(`"revision":1`, `"revision":0`)},
	{reason: decode.InvalidKind, value: replaced(`"NEW"`, `"new"`)},
	{reason: decode.QtyOutOfRange, value: tooLarge},
	{reason: decode.InvalidValidTime, value: replaced(`"valid_time":"2`, `"valid_time":"`)},
	{reason: decode.InvalidSourceTime, value: replaced(`"source_time":"2`, `"source_time":"`)},
	{reason: decode.UnknownStockKey, value: replaced(`"SKU-`, `"sku-`)},
	{reason: decode.BeforeLedgerOrigin, early: true},
	{reason: decode.KeyMismatch, key: func(good []byte) []byte { return good[:len(good)-1] }},
}

// spoiled makes a record that is rejected.
func (g *generator) spoiled() {
	f := &faults[g.random.below(uint64(len(faults)))]
	t := g.transaction()
	if f.early {
		t.validTime = Origin - 1 - int64(g.random.below(msPerDay))*nanosPerMs
	}
	r := &g.run
	r.Offset[g.rows], r.BrokerTime[g.rows] = g.row, g.told
	r.RejectAt, r.Reject.Codes = append(r.RejectAt, uint32(g.rows)), append(r.Reject.Codes, g.reason(f.reason))
	if g.h.config.Raw {
		g.spoil(&t, f)
	}
	g.advance()
}

// reason returns the dictionary code of a reason in the run.
func (g *generator) reason(reason decode.Reason) int32 {
	values := g.run.Reject.Values
	for code, v := range values {
		if string(v) == string(reason) {
			return int32(code)
		}
	}
	g.run.Reject.Values = append(values, []byte(reason))
	return int32(len(values))
}

// spoil appends the key and the value of a spoiled record.
func (g *generator) spoil(t *transaction, f *fault) {
	keys, values := &g.run.Raw.Key, &g.run.Raw.Value
	key, value := len(keys.Data), len(values.Data)
	g.raw(t, t.revision)
	change := func(s *vectorized.Strings, from int, spoil func([]byte) []byte) {
		if spoil == nil {
			return
		}
		s.Data = append(s.Data[:from], spoil(bytes.Clone(s.Data[from:]))...)
		s.Offsets[len(s.Offsets)-1] = uint32(len(s.Data))
	}
	change(keys, key, f.key)
	change(values, value, f.value)
}
