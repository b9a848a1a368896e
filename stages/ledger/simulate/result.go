package simulate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/stages/ledger"
)

// Result is what a simulation gives. Slices are never nil, so that they encode as [].
type Result struct {
	// Envelopes are the output messages in the order of the records that caused them.
	Envelopes []ledger.Envelope
	// Projection is the certified state at the end.
	Projection Projection
	// Uncertified holds the retained rows of BLOCKED keys (R13).
	Uncertified Facts
	// Stopped says where the worker would have stopped; nil where the history was decided to its end.
	Stopped *Stopped
}

// Stopped is the record at which the worker would stop its partition.
type Stopped struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
	// Detail is one line for people; it is not part of the document.
	Detail string `json:"-"`
}

// Facts are business rows, sorted by the bytes of item, then location, then day.
type Facts struct {
	Balances []Balance `json:"balances"`
	Alerts   []Alert   `json:"alerts"`
}

// Projection is the end state in the shape of design section 7, which the oracle prints too. BLOCKED keys list no
// balances and alerts. Conflicts are sorted by transaction ID, then revision; rejections by partition, then offset.
type Projection struct {
	Facts               `json:",inline"`
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

// Status is the trust status of a key with at least one accepted record: READY or BLOCKED (R10).
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

// Conflict is a conflict below the highest revision of its identity: an audit diagnostic (S4).
type Conflict struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
}

// Rejection is one rejected record with its reason from schemas/reasons.json (R05).
type Rejection struct {
	Partition int32         `json:"partition"`
	Offset    int64         `json:"offset"`
	Reason    ledger.Reason `json:"reason"`
}

// OutOfDomain is a day whose exact close does not fit int64 (R09). A worker stops before it has one, so simulations
// list none; the member is there because the oracle's projection has it.
type OutOfDomain struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	Day      string `json:"day"`
	Close    string `json:"close"`
}

// result collects the end state.
func (r *run) result() *Result {
	result := &Result{
		Envelopes:   append([]ledger.Envelope{}, r.envelopes...),
		Uncertified: Facts{Balances: []Balance{}, Alerts: []Alert{}},
		Projection: Projection{
			Facts:    Facts{Balances: []Balance{}, Alerts: []Alert{}},
			Statuses: []Status{}, SupersededConflicts: []Conflict{}, Rejections: []Rejection{}, OutOfDomain: []OutOfDomain{},
		},
	}
	var all ledger.Changes
	for _, partition := range slices.Sorted(maps.Keys(r.batches)) {
		changes := r.batches[partition].Changes()
		all.Keys = append(all.Keys, changes.Keys...)
		all.NewDays = append(all.NewDays, changes.NewDays...)
		all.NewAuthority = append(all.NewAuthority, changes.NewAuthority...)
		all.Conflicts = append(all.Conflicts, changes.Conflicts...)
		for _, row := range changes.Quarantine {
			rejection := Rejection{Partition: partition, Offset: row.Offset, Reason: row.Reason}
			result.Projection.Rejections = append(result.Projection.Rejections, rejection)
		}
	}
	blocked := r.addStatuses(result, all.Keys)
	r.addFacts(result, all.NewDays, blocked)
	r.addConflicts(result, &all)
	return result
}

// addStatuses lists the key statuses and returns the BLOCKED keys. Key IDs are in the order of item, then location.
func (r *run) addStatuses(result *Result, rows []ledger.KeyRow) map[int32]bool {
	blocked := make(map[int32]bool)
	slices.SortFunc(rows, func(a, b ledger.KeyRow) int { return cmp.Compare(a.KeyID, b.KeyID) })
	for _, row := range rows {
		key := r.cfg.StockKey(row.KeyID)
		status := Status{Item: key.Item, Location: key.Location, Status: "READY", Conflicts: []ConflictRef{}}
		for _, ref := range row.Conflicts {
			status.Status = "BLOCKED"
			status.Conflicts = append(status.Conflicts, ConflictRef(ref))
			blocked[row.KeyID] = true
		}
		result.Projection.Statuses = append(result.Projection.Statuses, status)
	}
	return blocked
}

// addFacts lists balances and alerts, certified or not.
func (r *run) addFacts(result *Result, rows []ledger.DayRow, blocked map[int32]bool) {
	slices.SortFunc(rows, func(a, b ledger.DayRow) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day))
	})
	for _, row := range rows {
		facts := &result.Projection.Facts
		if blocked[row.KeyID] {
			facts = &result.Uncertified
		}
		key, day := r.cfg.StockKey(row.KeyID), ledger.FormatDay(row.Day)
		if row.Active > 0 {
			facts.Balances = append(facts.Balances, Balance{Item: key.Item, Location: key.Location, Day: day, Close: row.Close})
		}
		if row.AlertPresent {
			facts.Alerts = append(facts.Alerts, Alert{
				Item: key.Item, Location: key.Location, Day: day, Close: row.AlertClose, Threshold: key.ReorderThreshold,
			})
		}
	}
}

// addConflicts lists the conflicts at revisions that are no longer the highest.
func (r *run) addConflicts(result *Result, all *ledger.Changes) {
	highest := make(map[ledger.IdentityRef]int64)
	for _, row := range all.NewAuthority {
		highest[ledger.IdentityRef{KeyID: row.KeyID, TxnID: row.TxnID}] = row.Payload.Revision
	}
	slices.SortFunc(all.Conflicts, func(a, b ledger.ConflictRow) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
	for _, row := range all.Conflicts {
		if row.Revision == highest[ledger.IdentityRef{KeyID: row.KeyID, TxnID: row.TxnID}] {
			continue
		}
		key := r.cfg.StockKey(row.KeyID)
		result.Projection.SupersededConflicts = append(result.Projection.SupersededConflicts,
			Conflict{Item: key.Item, Location: key.Location, TxnID: row.TxnID, Revision: row.Revision})
	}
}

// Write prints the result as JSON: {"envelopes":[…],"projection":{…},"uncertified":{…}} and, where it applies,
// "stopped". Envelopes stand one a line, byte for byte as they would be published; nothing is escaped for HTML.
func (result *Result) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(`{"envelopes":[`) // a buffered writer keeps its first error until Flush
	for i, envelope := range result.Envelopes {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_ = out.WriteByte('\n')
		_, _ = out.Write(envelope.Value)
	}
	_, _ = out.WriteString("],\n")
	sections := []struct {
		name  string
		value any
	}{{"projection", &result.Projection}, {"uncertified", &result.Uncertified}, {"stopped", result.Stopped}}
	if result.Stopped == nil {
		sections = sections[:2]
	}
	for i, section := range sections {
		text, err := json.Marshal(section.value, jsontext.WithIndent(" "))
		if err != nil {
			return fmt.Errorf("write %s: %w", section.name, err)
		}
		_, _ = fmt.Fprintf(out, "%q:%s", section.name, text)
		if i < len(sections)-1 {
			_, _ = out.WriteString(",\n")
		}
	}
	_, _ = out.WriteString("}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the simulation: %w", err)
	}
	return nil
}
