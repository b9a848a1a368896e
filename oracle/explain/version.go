package explain

// Version is one output version (S7) as an envelope states it, with the source record that triggered it.
type Version struct {
	Fact
	// Partition and Offset are where the envelope is in the output topic; Copies counts further ones, repeats of the
	// relay.
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	Copies    int64 `json:"copies"`
	// Type is BalanceStated, BalanceRetracted, AlertRaised, AlertRetracted or KeyStatusStated.
	Type string `json:"type"`
	// Cause is the source revision that triggered the version; nil where no single one did.
	Cause *Cause `json:"cause"`
	// SourcePartition and SourceOffset are where the triggering record is.
	SourcePartition int32 `json:"sourcePartition"`
	SourceOffset    int64 `json:"sourceOffset"`
	// InView says what the view makes of it; empty where no view was read.
	InView InView `json:"inView,omitempty"`
}

// Cause names the revision of an identity.
type Cause struct {
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
}

// Fact is what a view holds, or an envelope states, about one output ID.
type Fact struct {
	// Family is balance, alert or status; Day is YYYY-MM-DD, empty for a status.
	Family string `json:"family"`
	Day    string `json:"day,omitempty"`
	// Version counts from 1 for each output ID.
	Version int64 `json:"version"`
	// Present is false for a withdrawn fact, which then has no values.
	Present bool `json:"present"`
	// Close is set for balances and alerts, Threshold for alerts, Status and Conflicts for statuses.
	Close     *int64  `json:"close,omitempty"`
	Threshold *int64  `json:"threshold,omitempty"`
	Status    string  `json:"status,omitempty"`
	Conflicts []Cause `json:"conflicts,omitempty"`
}

// The families of facts.
const (
	FamilyBalance = "balance"
	FamilyAlert   = "alert"
	FamilyStatus  = "status"
)

// InView is what a view makes of an output version.
type InView string

// The answers.
const (
	// Applied: the view has this version.
	Applied InView = "applied"
	// Passed: the view has a higher version.
	Passed InView = "passed"
	// Awaited: the view has a lower version, or none, and has not come to the envelope yet.
	Awaited InView = "awaited"
	// Lacking: the view has a lower version, or none, although it has applied everything up to and with the envelope.
	Lacking InView = "lacking"
	// Differs: the view has this version with other content.
	Differs InView = "differs"
)
