package worlds

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/stages/ledger"
)

// outcome is what a judge says a history must end in, in the terms of what the worker stores and publishes.
type outcome struct {
	// facts maps the output ID of every certified balance and alert, and of every status, to its payload.
	facts map[string]string
	// blocked are the beginnings of the output IDs of BLOCKED keys: what they show is not certified.
	blocked []string
	// days are the certified days.
	days map[dayRef]dayFact
	// conflicts are the revisions that ever had two payloads, ambiguous now or superseded.
	conflicts map[ledger.RevisionRef]bool
	// blockedKeys are the IDs of the BLOCKED keys.
	blockedKeys map[int32]bool
}

type dayRef struct{ key, day int32 }

type dayFact struct {
	close int64
	alert bool
}

// quoted is a string as envelopes spell it.
func quoted(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // names in projections are valid UTF-8
	}
	return string(text)
}

// newOutcome translates a projection.
func newOutcome(ns *manifests.Namespace, p *projection.Projection) *outcome {
	o := &outcome{
		facts: make(map[string]string), days: make(map[dayRef]dayFact),
		conflicts: make(map[ledger.RevisionRef]bool), blockedKeys: make(map[int32]bool),
	}
	begin := func(family, item, location string) string {
		return "[" + quoted(ns.Name) + "," + quoted(family) + "," + quoted(item) + "," + quoted(location)
	}
	for _, s := range p.Statuses {
		id := keyID(ns, s.Item, s.Location)
		refs := make([]string, 0, len(s.Conflicts))
		for _, c := range s.Conflicts {
			refs = append(refs, fmt.Sprintf(`{"revision":%d,"txn_id":%s}`, c.Revision, quoted(c.TxnID)))
			o.conflicts[ledger.RevisionRef{KeyID: id, TxnID: c.TxnID, Revision: c.Revision}] = true
		}
		o.facts[begin("key-status", s.Item, s.Location)+"]"] = fmt.Sprintf(`{"conflicts":[%s],"item":%s,"location":%s,"status":%q}`,
			strings.Join(refs, ","), quoted(s.Item), quoted(s.Location), s.Status)
		if s.Status == "BLOCKED" {
			o.blockedKeys[id] = true
			o.blocked = append(o.blocked, begin("balance", s.Item, s.Location)+",", begin("alert", s.Item, s.Location)+",")
		}
	}
	for _, c := range p.SupersededConflicts {
		o.conflicts[ledger.RevisionRef{KeyID: keyID(ns, c.Item, c.Location), TxnID: c.TxnID, Revision: c.Revision}] = true
	}
	for _, b := range p.Balances {
		o.days[dayRef{keyID(ns, b.Item, b.Location), dayNumber(b.Day)}] = dayFact{close: b.Close}
		o.facts[begin("balance", b.Item, b.Location)+`,"`+b.Day+`"]`] = fmt.Sprintf(`{"close":%d,"day":%q,"item":%s,"location":%s}`,
			b.Close, b.Day, quoted(b.Item), quoted(b.Location))
	}
	for _, a := range p.Alerts {
		o.days[dayRef{keyID(ns, a.Item, a.Location), dayNumber(a.Day)}] = dayFact{close: a.Close, alert: true}
		o.facts[begin("alert", a.Item, a.Location)+`,"`+a.Day+`"]`] = fmt.Sprintf(
			`{"close":%d,"day":%q,"item":%s,"location":%s,"threshold":%d}`, a.Close, a.Day, quoted(a.Item), quoted(a.Location), a.Threshold)
	}
	return o
}

// keyID is the index of a stock key, -1 where there is none.
func keyID(ns *manifests.Namespace, item, location string) int32 {
	return int32(slices.IndexFunc(ns.Spec.StockKeys, func(k manifests.StockKey) bool { return k.Item == item && k.Location == location }))
}

// dayNumber is YYYY-MM-DD as days since the Unix epoch.
func dayNumber(text string) int32 {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err) // judges print calendar days
	}
	return int32(day.Unix() / 86_400)
}

// output is the newest state of one published output.
type output struct {
	id, payload []byte
	version     int64
}

// published folds envelopes in publication order. The error says where a version does not rise by one.
func published(envelopes []ledger.Envelope) ([]output, error) {
	var all []output
	index := make(map[string]int)
	for _, e := range envelopes {
		_, rest, _ := bytes.Cut(e.Value, []byte(`,"output_id":`))
		id, rest, _ := bytes.Cut(rest, []byte(`,"payload":`))
		payload, rest, _ := bytes.Cut(rest, []byte(`,"schema_version":`))
		at := bytes.LastIndexByte(rest, ':')
		version, err := strconv.ParseInt(string(rest[at+1:len(rest)-1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Value, err)
		}
		i, ok := index[string(id)]
		if !ok {
			i = len(all)
			index[string(id)] = i
			all = append(all, output{id: id})
		}
		if version != all[i].version+1 {
			return nil, fmt.Errorf("%s after version %d", e.Value, all[i].version)
		}
		if bytes.Equal(payload, all[i].payload) {
			return nil, fmt.Errorf("%s says what version %d said", e.Value, all[i].version)
		}
		all[i].payload, all[i].version = payload, version
	}
	return all, nil
}

// checkPublished compares what a consumer shows after all envelopes (S1, S7).
func (o *outcome) checkPublished(envelopes []ledger.Envelope) error {
	outputs, err := published(envelopes)
	if err != nil {
		return err
	}
	present := 0
	for _, out := range outputs {
		want, certified := o.facts[string(out.id)]
		switch {
		case string(out.payload) == "null" && !certified:
		case !certified && o.isBlocked(string(out.id)):
		case !certified:
			return fmt.Errorf("%s shows %s, must be absent", out.id, out.payload)
		case want != string(out.payload):
			return fmt.Errorf("%s shows %s, must be %s", out.id, out.payload, want)
		default:
			present++
		}
	}
	if present != len(o.facts) {
		return fmt.Errorf("%d outputs are present, must be %d: %v", present, len(o.facts), o.facts)
	}
	return nil
}

// isBlocked tells whether an output ID is a balance or alert of a BLOCKED key.
func (o *outcome) isBlocked(id string) bool {
	return slices.ContainsFunc(o.blocked, func(start string) bool { return strings.HasPrefix(id, start) })
}

// checkRows compares the rows that the worker keeps: day rows of READY keys, and every conflict.
func (o *outcome) checkRows(days []ledger.DayRow, conflicts []ledger.ConflictRow) error {
	present := 0
	for _, row := range days {
		if o.blockedKeys[row.KeyID] {
			continue
		}
		want, ok := o.days[dayRef{row.KeyID, row.Day}]
		if ok != (row.Active > 0) || ok && (row.Close != want.close || row.AlertPresent != want.alert || want.alert && row.AlertClose != want.close) {
			return fmt.Errorf("day row %+v, must be present %v: %+v", row, ok, want)
		}
		if ok {
			present++
		}
	}
	if present != len(o.days) {
		return fmt.Errorf("%d day rows are present, must be %d", present, len(o.days))
	}
	for _, row := range conflicts {
		if !o.conflicts[ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Revision}] {
			return fmt.Errorf("conflict %+v is none", row)
		}
	}
	if len(conflicts) != len(o.conflicts) {
		return fmt.Errorf("%d conflicts, must be %d", len(conflicts), len(o.conflicts))
	}
	return nil
}

// checkEvidence: what is kept is every distinct payload, once (S3, S4, R20).
func checkEvidence(accepted []ledger.Transaction, authority []ledger.AuthorityRow, evidence []ledger.EvidenceRow) error {
	kept := make([]ledger.Transaction, 0, len(authority)+len(evidence))
	for _, row := range authority {
		kept = append(kept, ledger.Transaction{KeyID: row.KeyID, TxnID: row.TxnID, Payload: row.Payload})
	}
	for _, row := range evidence {
		kept = append(kept, ledger.Transaction{KeyID: row.KeyID, TxnID: row.TxnID, Payload: row.Payload})
	}
	distinct := slices.Clone(accepted)
	slices.SortFunc(distinct, compareTransactions)
	distinct = slices.Compact(distinct)
	slices.SortFunc(kept, compareTransactions)
	if !slices.Equal(kept, distinct) {
		return fmt.Errorf("evidence of %+v, must be of %+v", kept, distinct)
	}
	return nil
}

func compareTransactions(a, b ledger.Transaction) int {
	return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Payload.Revision, b.Payload.Revision),
		cmp.Compare(a.Payload.Kind, b.Payload.Kind), cmp.Compare(a.Payload.ValidTime, b.Payload.ValidTime), cmp.Compare(a.Payload.Qty, b.Payload.Qty))
}
