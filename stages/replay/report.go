package replay

// Report is what a replay found.
type Report struct {
	Namespace string `json:"namespace"`
	Range
	// StartedAt is From, or where an interrupted replay of the same range had come to.
	StartedAt int64 `json:"startedAt"`
	// Cursor is exclusive: everything before it is confirmed.
	Cursor int64 `json:"cursor"`
	// Epoch is the one under which the partition was held; Frontier is the worker's, which a replay leaves alone.
	Epoch    int64 `json:"epoch"`
	Frontier int64 `json:"frontier"`
	// Reread counts data records, those of an interrupted replay that this one goes on with included.
	Reread int64 `json:"reread"`
	// Confirmed is the total of Kinds.
	Confirmed int64  `json:"confirmed"`
	Kinds     Counts `json:"kinds"`
	// Fault is where state is not intact, nil where it is.
	Fault *Fault `json:"fault"`
}
