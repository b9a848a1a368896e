package vectorized

// Columns are the typed columns of a run of records of one partition, in offset order. Slices belong to whoever made
// them and are only read.
type Columns struct {
	// Rows is the number of records; Accepted that of those which were not rejected. Every column but Offset and Reject
	// has one value for each accepted record.
	Rows, Accepted int
	// Offset has one value for each record.
	Offset []int64
	// Item, Location and Kind are dictionary codes of each accepted record.
	Item, Location, Kind Dictionary
	// TxnID are the transaction IDs.
	TxnID Strings
	// Revision, ValidTime (nanoseconds since the Unix epoch) and Qty are plain.
	Revision, ValidTime, Qty []int64
	// Reject are the reasons of the rejected records, in order, and RejectAt their row numbers.
	Reject   Dictionary
	RejectAt []uint32
}

// Dictionary is a column of codes into a few values.
type Dictionary struct {
	Codes  []int32
	Values [][]byte
}

// Strings are values of Data between neighbouring Offsets, of which there is one more than values.
type Strings struct {
	Data    []byte
	Offsets []uint32
}

// Len is the number of values.
func (s *Strings) Len() int { return max(0, len(s.Offsets)-1) }

// Value is the i-th value; it is valid as long as the column.
func (s *Strings) Value(i int) []byte { return s.Data[s.Offsets[i]:s.Offsets[i+1]] }

// RawColumns are the raw bytes of a run of records of one partition, in offset order.
type RawColumns struct {
	Rows   int
	Offset []int64
	// Key and Value have one value for each record in which it is not null.
	Key, Value Strings
	// KeyLevels and ValueLevels are 1 where the record has one and 0 where it is null; empty where none is null.
	KeyLevels, ValueLevels []byte
}

// Each calls visit for each record; null is nil and distinct from empty. Bytes are valid as long as the columns.
func (c *RawColumns) Each(visit func(offset int64, key, value []byte)) {
	keys, values := 0, 0
	next := func(s *Strings, levels []byte, row int, at *int) []byte {
		if len(levels) > 0 && levels[row] == 0 {
			return nil
		}
		*at++
		if v := s.Value(*at - 1); v != nil {
			return v
		}
		return []byte{}
	}
	for row := range c.Rows {
		visit(c.Offset[row], next(&c.Key, c.KeyLevels, row, &keys), next(&c.Value, c.ValueLevels, row, &values))
	}
}
