package durability

// Marker is the sender's durability_request (section 2). A request without one is answered as if the extension were not
// there.
type Marker struct {
	// Level is what the sender asks for, as sent.
	Level Level `json:"level"`
	// MustHave refuses the request where the level cannot be provided; otherwise less is taken, observably.
	MustHave bool `json:"must_have"`
}

// Reason is a reason code of the result.
type Reason string

// The pinned reasons (section 7).
const (
	NoDurableStore Reason = "no_durable_store"
	RequiredUnmet  Reason = "durability_required_unmet"
	UnknownLevel   Reason = "unknown_level"
	DuplicateID    Reason = "duplicate_request_id"
)

// Result is the pinned durability field of an answer (section 5).
type Result struct {
	// Requested is the level asked for, as sent.
	Requested Level `json:"requested"`
	// Applied is physically in place at the moment of the answer, or None. It never names a promise.
	Applied Level `json:"applied"`
	// Committed is the level that completes later; only with status 202.
	Committed Level `json:"committed,omitempty"`
	// MaxAvailable is the strongest level offered; only, and always, with status 412.
	MaxAvailable Level `json:"max_available,omitempty"`
	// Handle is where the entry is found again; exactly where Applied is not None, and with status 202.
	Handle string `json:"handle,omitempty"`
	// Reason is set in the cases that the contract enumerates.
	Reason Reason `json:"reason,omitempty"`
}

// Answer is a status with its durability field, which is nil exactly where the request has no marker.
type Answer struct {
	// Status is the HTTP status. Only 200 and 202 say that the request was performed (R30).
	Status     int
	Durability *Result
}

// Performed reports whether the answer says that the request was performed.
func (a Answer) Performed() bool { return a.Status == ok || a.Status == accepted }
