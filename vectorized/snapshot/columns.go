package snapshot

import (
	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// partColumns is the schema of a typed file. It only carries the tags: rows are
// written and read value by value, so that null, empty and zero stay apart.
type partColumns struct {
	Partition    int32  `parquet:"partition,delta"`
	Offset       int64  `parquet:"offset,delta"`
	BrokerTime   int64  `parquet:"broker_time,delta,timestamp(millisecond:utc)"`
	Item         string `parquet:"item,optional,dict"`
	Location     string `parquet:"location,optional,dict"`
	TxnID        string `parquet:"txn_id,optional"`
	Revision     int64  `parquet:"revision,optional,delta"`
	Kind         string `parquet:"kind,optional,dict"`
	ValidTime    int64  `parquet:"valid_time,optional,delta,timestamp(nanosecond:utc)"`
	Qty          int64  `parquet:"qty,optional,delta"`
	SourceTime   int64  `parquet:"source_time,optional,delta,timestamp(nanosecond:utc)"`
	RejectReason string `parquet:"reject_reason,optional,dict"`
}

// rawColumns is the schema of a raw file.
type rawColumns struct {
	Partition  int32  `parquet:"partition,delta"`
	Offset     int64  `parquet:"offset,delta"`
	BrokerTime int64  `parquet:"broker_time,delta,timestamp(millisecond:utc)"`
	Key        []byte `parquet:"key,optional"`
	Value      []byte `parquet:"value,optional"`
}

// Positions of the columns of a typed file.
const (
	partPartition = iota
	partOffset
	partBrokerTime
	partItem
	partLocation
	partTxnID
	partRevision
	partKind
	partValidTime
	partQty
	partSourceTime
	partRejectReason
)

// Positions of the columns of a raw file; the first three are those of a typed one.
const (
	rawKey     = partBrokerTime + 1
	rawValue   = rawKey + 1
	rawColumnN = rawValue + 1
)

var (
	partSchema = parquet.SchemaOf(partColumns{})
	rawSchema  = parquet.SchemaOf(rawColumns{})
)

// required is a value of a column without nulls.
func required(v parquet.Value, column int) parquet.Value { return v.Level(0, 0, column) }

// present is a value that is not null in a column that may hold nulls.
func present(v parquet.Value, column int) parquet.Value { return v.Level(0, 1, column) }

// null is the null of a column.
func null(column int) parquet.Value { return parquet.NullValue().Level(0, 0, column) }

// nullable is a byte string in which nil is null and distinct from empty.
func nullable(b []byte, column int) parquet.Value {
	if b == nil {
		return null(column)
	}
	return present(parquet.ByteArrayValue(b), column)
}

// coordinates appends the columns that both files have.
func coordinates(row parquet.Row, r *engine.Record) parquet.Row {
	return append(row,
		required(parquet.Int32Value(r.Partition), partPartition),
		required(parquet.Int64Value(r.Offset), partOffset),
		required(parquet.Int64Value(r.BrokerTime), partBrokerTime))
}

// rawRow appends a record's row of the raw file.
func rawRow(row parquet.Row, r *engine.Record) parquet.Row {
	return append(coordinates(row, r), nullable(r.Key, rawKey), nullable(r.Value, rawValue))
}

// partRow appends a record's row of the typed file: what the oracle's decoder makes of it.
func partRow(row parquet.Row, r *engine.Record, d *decode.Decoder, keys []manifests.StockKey) parquet.Row {
	row = coordinates(row, r)
	tx, reason := d.Decode(r.Partition, r.Key, r.Value)
	if reason != decode.Accepted {
		for column := partItem; column < partRejectReason; column++ {
			row = append(row, null(column))
		}
		return append(row, text(string(reason), partRejectReason))
	}
	integer := func(v int64, column int) parquet.Value { return present(parquet.Int64Value(v), column) }
	return append(row,
		text(keys[tx.Key].Item, partItem),
		text(keys[tx.Key].Location, partLocation),
		present(parquet.ByteArrayValue(tx.TxnID), partTxnID),
		integer(tx.Revision, partRevision),
		text(tx.Kind.String(), partKind),
		integer(tx.ValidTime, partValidTime),
		integer(tx.Qty, partQty),
		integer(tx.SourceTime, partSourceTime),
		null(partRejectReason))
}

// text is a string that is not null.
func text(s string, column int) parquet.Value {
	return present(parquet.ByteArrayValue([]byte(s)), column)
}
