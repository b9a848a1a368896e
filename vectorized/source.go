package vectorized

import "context"

// SourceOf is a source history in parts that can be read independently and are decoded to a C. It is safe for concurrent use.
type SourceOf[C any] interface {
	// Parts are the parts, by partition, then by offset.
	Parts() []Part
	// Load brings the i-th part into memory and verifies it. The buffer is used where it is large enough and returned, or a
	// larger one; the part refers to it. An error says which file is at fault.
	Load(ctx context.Context, i int, buffer []byte) (Loaded, []byte, error)
	// NewDecoder returns a decoder for one goroutine.
	NewDecoder() DecoderOf[C]
}

// DecoderOf decodes parts of one SourceOf into memory of its own.
type DecoderOf[C any] interface {
	// Columns decodes a group. The columns are valid until the next call. An error says which file is at fault.
	Columns(l Loaded, group int) (*C, error)
}

type (
	// Source is a source history as typed columns.
	Source = SourceOf[Columns]
	// Decoder decodes parts of one Source.
	Decoder = DecoderOf[Columns]
	// RawSource is a source history as raw records.
	RawSource = SourceOf[RawColumns]
	// RawDecoder decodes parts of one RawSource.
	RawDecoder = DecoderOf[RawColumns]
)

// Part is a run of one partition's records.
type Part struct {
	Partition int32
	Rows      int64
}

// Loaded is a part in memory. It is safe for concurrent use.
type Loaded interface {
	// Groups is the number of runs of records that can be decoded independently.
	Groups() int
	// Fault names the file in an error.
	Fault(err error) error
}
