// Package projection is what an oracle engine computes from a source history, in the JSON shape of design section 7.
package projection

// Projection is the complete result for one history and configuration (S1). Slices are sorted by the bytes of item,
// then location, then day (conflicts by transaction ID, then revision; rejections by partition, then offset) and are
// never nil, so that they encode as [].
type Projection struct {
	Balances            []Balance     `json:"balances"`
	Alerts              []Alert       `json:"alerts"`
	Statuses            []Status      `json:"statuses"`
	SupersededConflicts []Conflict    `json:"supersededConflicts"`
	Rejections          []Rejection   `json:"rejections"`
	OutOfDomain         []OutOfDomain `json:"outOfDomain"`
}

// Balance is one sparse daily close (S5). Day is YYYY-MM-DD.
type Balance struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	Day      string `json:"day"`
	Close    int64  `json:"close"`
}

// Alert is one valid historical downward crossing (S5).
type Alert struct {
	Item      string `json:"item"`
	Location  string `json:"location"`
	Day       string `json:"day"`
	Close     int64  `json:"close"`
	Threshold int64  `json:"threshold"`
}

// Status is the trust status of a key that has at least one accepted record: READY or BLOCKED (R10).
type Status struct {
	Item      string        `json:"item"`
	Location  string        `json:"location"`
	Status    string        `json:"status"`
	Conflicts []ConflictRef `json:"conflicts"`
}

// ConflictRef names an ambiguous revision within its key.
type ConflictRef struct {
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
}

// Conflict is a conflict at a revision that is no longer the highest: an audit diagnostic (S4).
type Conflict struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
}

// Rejection is one rejected record with its reason from schemas/reasons.json (R05).
type Rejection struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

// OutOfDomain is a day whose exact close does not fit int64, as a decimal string (R09).
type OutOfDomain struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	Day      string `json:"day"`
	Close    string `json:"close"`
}
