package vectorized

import "context"

// Source is a source history as typed columns, in parts that can be read independently. It is safe for concurrent use.
type Source interface {
	// Parts are the parts, by partition, then by offset.
	Parts() []Part
	// Load brings the i-th part into memory and verifies it. The buffer is used where it is large enough and returned, or a
	// larger one; the part refers to it. An error says which file is at fault.
	Load(ctx context.Context, i int, buffer []byte) (Loaded, []byte, error)
	// NewDecoder returns a decoder for one goroutine.
	NewDecoder() Decoder
}

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

// Decoder decodes parts of one Source into memory of its own.
type Decoder interface {
	// Columns decodes a group. The columns are valid until the next call. An error says which file is at fault.
	Columns(l Loaded, group int) (*Columns, error)
}

// RawSource is a source history as raw records, in parts that can be read independently. It is safe for concurrent use.
type RawSource interface {
	// Parts are as of Source.
	Parts() []Part
	// Load is as of Source.
	Load(ctx context.Context, i int, buffer []byte) (Loaded, []byte, error)
	// NewDecoder returns a decoder for one goroutine.
	NewDecoder() RawDecoder
}

// RawDecoder decodes parts of one RawSource into memory of its own.
type RawDecoder interface {
	// Columns decodes a group. The columns are valid until the next call. An error says which file is at fault.
	Columns(l Loaded, group int) (*RawColumns, error)
}
