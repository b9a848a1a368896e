package snapshot

import "github.com/parquet-go/parquet-go"

// partColumns is the schema of a typed file. It only carries the tags: columns are written as they are, so that null,
// empty and zero stay apart. Encodings are those that made the oracle's run cheapest, its SHA-256 included
// (docs/benchmarks.md): only the times that it does not read are compressed for size alone.
type partColumns struct {
	Partition    int32  `parquet:"partition,delta,uncompressed"`
	Offset       int64  `parquet:"offset,delta,uncompressed"`
	BrokerTime   int64  `parquet:"broker_time,delta,zstd,timestamp(millisecond:utc)"`
	Item         string `parquet:"item,optional,dict"`
	Location     string `parquet:"location,optional,dict,uncompressed"`
	TxnID        string `parquet:"txn_id,optional"`
	Revision     int64  `parquet:"revision,optional,delta,uncompressed"`
	Kind         string `parquet:"kind,optional,dict,uncompressed"`
	ValidTime    int64  `parquet:"valid_time,optional,delta,uncompressed,timestamp(nanosecond:utc)"`
	Qty          int64  `parquet:"qty,optional,delta,uncompressed"`
	SourceTime   int64  `parquet:"source_time,optional,delta,zstd,timestamp(nanosecond:utc)"`
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
	rawKey   = partBrokerTime + 1
	rawValue = rawKey + 1
)

var (
	partSchema = parquet.SchemaOf(partColumns{})
	rawSchema  = parquet.SchemaOf(rawColumns{})
)
