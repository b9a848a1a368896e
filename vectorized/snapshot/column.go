package snapshot

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Positions of the columns that a computation needs, in typed.
const (
	columnPartition = iota
	columnOffset
	columnItem
	columnLocation
	columnTxnID
	columnRevision
	columnKind
	columnValidTime
	columnQty
	columnReject
	typedColumns
)

// valueKind says how a column is decoded.
type valueKind int

const (
	int32Value valueKind = iota
	int64Value
	nanosValue // int64 of nanoseconds, UTC
	codeValue  // text, as dictionary codes
	textValue
)

// columnSpec is a column that a computation needs. It is found by name, so that files of other writers may order columns
// otherwise and have more of them.
type columnSpec struct {
	name string
	kind valueKind
}

// typed are the columns of typed files.
var typed = []columnSpec{
	columnPartition: {"partition", int32Value},
	columnOffset:    {"offset", int64Value},
	columnItem:      {"item", codeValue},
	columnLocation:  {"location", codeValue},
	columnTxnID:     {"txn_id", textValue},
	columnRevision:  {"revision", int64Value},
	columnKind:      {"kind", codeValue},
	columnValidTime: {"valid_time", nanosValue},
	columnQty:       {"qty", int64Value},
	columnReject:    {"reject_reason", codeValue},
}

// ofAccepted are the columns that are null where a record was rejected.
var ofAccepted = []int{columnItem, columnLocation, columnTxnID, columnRevision, columnKind, columnValidTime, columnQty}

// Positions of the columns of raw files that a computation needs, in raw.
const (
	rawColumnPartition = iota
	rawColumnOffset
	rawColumnKey
	rawColumnValue
	rawColumnCount
)

// raw are the columns of raw files.
var raw = []columnSpec{
	rawColumnPartition: {"partition", int32Value},
	rawColumnOffset:    {"offset", int64Value},
	rawColumnKey:       {"key", textValue},
	rawColumnValue:     {"value", textValue},
}

// lookUp finds the position of wanted columns in a file, and whether their values may be null. Columns of another type are
// refused.
func lookUp(p *parquet.File, wanted []columnSpec) (positions []int, optional []bool, err error) {
	for _, w := range wanted {
		if named(p, w.name) > 1 {
			return nil, nil, fmt.Errorf("it has several columns %s", w.name)
		}
		column := p.Root().Column(w.name)
		if column == nil || !column.Leaf() {
			return nil, nil, fmt.Errorf("it has no column %s", w.name)
		}
		if column.Repeated() {
			return nil, nil, fmt.Errorf("column %s is repeated", w.name)
		}
		if !w.kind.fits(column.Type()) {
			return nil, nil, fmt.Errorf("column %s has type %s", w.name, column.Type())
		}
		positions, optional = append(positions, column.Index()), append(optional, column.Optional())
	}
	return positions, optional, nil
}

// named counts the columns of a name.
func named(p *parquet.File, name string) int {
	n := 0
	for _, column := range p.Root().Columns() {
		if column.Name() == name {
			n++
		}
	}
	return n
}

// fits reports whether a column of a Parquet type can be decoded as this kind.
func (k valueKind) fits(t parquet.Type) bool {
	logical := t.LogicalType()
	switch k {
	case int32Value:
		return t.Kind() == parquet.Int32 && isSigned(t)
	case int64Value:
		return t.Kind() == parquet.Int64 && isSigned(t)
	case nanosValue:
		return t.Kind() == parquet.Int64 && isTimestamp(logical) && isNanos(logical)
	case codeValue, textValue:
	}
	return t.Kind() == parquet.ByteArray
}

// isSigned reports whether the numbers of a type are what they are stored as: signed integers, and no instants, unscaled
// decimals or numbers without a sign, which would be read as others.
func isSigned(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil && logical.Value != nil {
		integer, ok := logical.Value.(*format.IntType)
		return ok && integer.IsSigned
	}
	converted := t.ConvertedType()
	return converted == nil || *converted >= deprecated.Int8 && *converted <= deprecated.Int64
}

// isTimestamp reports whether a logical type is a timestamp.
func isTimestamp(l *format.LogicalType) bool {
	if l == nil {
		return false
	}
	_, ok := l.Value.(*format.TimestampType)
	return ok
}

// isNanos reports whether a timestamp counts nanoseconds.
func isNanos(l *format.LogicalType) bool {
	ts, _ := l.Value.(*format.TimestampType)
	_, ok := ts.Unit.Value.(*format.NanoSeconds)
	return ok
}
