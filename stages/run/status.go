package run

import (
	"time"

	"amends.dev/amends/stages/fault"
)

// Status is what one stage shows of one partition (design section 6). A number that its stage does not know is nil, null
// in JSON.
type Status struct {
	Stage     string `json:"stage"`
	Partition int32  `json:"partition"`
	// Frontier is exclusive: the next position to work on.
	Frontier int64 `json:"frontier"`
	// End is the exclusive end of what there is to work on.
	End *int64 `json:"end"`
	// LagRecords is End minus Frontier: positions, of which control records take some.
	LagRecords *int64 `json:"lagRecords"`
	// LagSeconds is the age of the last record consumed, whole seconds, 0 at the end.
	LagSeconds *int64 `json:"lagSeconds"`
	// Epoch is the ownership epoch held, 0 where none is.
	Epoch int64 `json:"epoch"`
	// Owner is the group member that holds it, empty where none does.
	Owner string `json:"owner"`
	// Stall is why the partition does not move, nil while it does.
	Stall *fault.Stall `json:"stall"`
	// RecordMillis is the broker's timestamp of the last record consumed, milliseconds since the Unix epoch, 0 where
	// unknown.
	RecordMillis int64 `json:"-"`
}

// Against returns the status completed with the end of its input, as the broker or store says it at now.
func (s Status) Against(end int64, now time.Time) Status {
	lag, seconds := max(0, end-s.Frontier), int64(0)
	s.End, s.LagRecords = &end, &lag
	switch {
	case lag == 0:
		s.LagSeconds = &seconds
	case s.RecordMillis > 0:
		seconds = max(0, (now.UnixMilli()-s.RecordMillis)/1000)
		s.LagSeconds = &seconds
	}
	return s
}
