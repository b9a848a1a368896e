package ledger_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/stages/ledger"
)

// model recomputes everything from all accepted records after each of them, with none of the core's techniques: no
// deltas, no day rows, arbitrary precision, text for days.
type model struct {
	cfg      *ledger.Config
	accepted map[int32][]ledger.Transaction
	views    map[int32]*modelView
}

// modelView is what was published of one key.
type modelView struct {
	// facts maps "balance/day" and "alert/day" to the present payload; versions keeps counting when it goes.
	facts    map[string]string
	versions map[string]int64
	status   string
}

// newModel returns a model without records.
func newModel(cfg *ledger.Config) *model {
	return &model{cfg: cfg, accepted: make(map[int32][]ledger.Transaction), views: make(map[int32]*modelView)}
}

// quoteJSON writes a JSON string.
func quoteJSON(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // test data is valid UTF-8
	}
	return string(text)
}

// accept adds a record and returns the envelopes it must cause; false where it must stop the partition.
func (m *model) accept(rec ledger.Record, tx ledger.Transaction) (envelopes []string, ok bool) {
	all := append(slices.Clone(m.accepted[tx.KeyID]), tx)
	view := m.views[tx.KeyID]
	if view == nil {
		view = &modelView{facts: make(map[string]string), versions: make(map[string]int64)}
	}
	conflicts, active := m.authority(all)
	facts := view.facts
	if len(conflicts) == 0 {
		if facts, ok = m.facts(tx.KeyID, active); !ok {
			return nil, false
		}
	}
	changed := make(map[string]bool)
	for _, name := range slices.Concat(slices.Collect(maps.Keys(facts)), slices.Collect(maps.Keys(view.facts))) {
		if facts[name] != view.facts[name] {
			changed[name] = true
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(changed), compareOutputs) {
		envelopes = append(envelopes, m.envelope(rec, tx, view, name, facts[name]))
	}
	if status := m.status(tx.KeyID, conflicts); status != view.status {
		envelopes = append(envelopes, m.envelope(rec, tx, view, "key-status", status))
		view.status = status
	}
	view.facts = facts
	m.accepted[tx.KeyID], m.views[tx.KeyID] = all, view
	return envelopes, true
}

// compareOutputs orders "balance/day" and "alert/day" by day, the balance first.
func compareOutputs(a, b string) int {
	familyA, dayA, _ := strings.Cut(a, "/")
	familyB, dayB, _ := strings.Cut(b, "/")
	if order := strings.Compare(dayA, dayB); order != 0 {
		return order
	}
	return strings.Compare(familyB, familyA)
}

// authority returns the sorted ambiguous revisions, as JSON, and the active authoritative transactions.
func (m *model) authority(all []ledger.Transaction) (conflicts []string, active []ledger.Transaction) {
	payloads := make(map[string][]ledger.Payload)
	for _, tx := range all {
		highest := payloads[tx.TxnID]
		switch {
		case len(highest) == 0 || tx.Payload.Revision > highest[0].Revision:
			payloads[tx.TxnID] = []ledger.Payload{tx.Payload}
		case tx.Payload.Revision == highest[0].Revision && !slices.Contains(highest, tx.Payload):
			payloads[tx.TxnID] = append(highest, tx.Payload)
		}
	}
	for _, txnID := range slices.Sorted(maps.Keys(payloads)) {
		switch highest := payloads[txnID]; {
		case len(highest) > 1:
			conflicts = append(conflicts, fmt.Sprintf(`{"revision":%d,"txn_id":%s}`, highest[0].Revision, quoteJSON(txnID)))
		case highest[0].Kind != ledger.KindCancel:
			active = append(active, ledger.Transaction{TxnID: txnID, Payload: highest[0]})
		}
	}
	return conflicts, active
}

// facts returns the payloads of S5, false where a close is outside int64.
func (m *model) facts(keyID int32, active []ledger.Transaction) (map[string]string, bool) {
	key := m.cfg.StockKey(keyID)
	sums := make(map[string]*big.Int)
	for _, tx := range active {
		day := time.Unix(0, tx.Payload.ValidTime).UTC().Format(time.DateOnly)
		if sums[day] == nil {
			sums[day] = new(big.Int)
		}
		sums[day].Add(sums[day], big.NewInt(tx.Payload.Qty))
	}
	facts := make(map[string]string)
	closing, threshold := big.NewInt(key.OpeningBalance), big.NewInt(key.ReorderThreshold)
	for _, day := range slices.Sorted(maps.Keys(sums)) {
		wasBelow := closing.Cmp(threshold) < 0
		closing.Add(closing, sums[day])
		if !closing.IsInt64() {
			return nil, false
		}
		fact := fmt.Sprintf(`{"close":%s,"day":%q,"item":%s,"location":%s`, closing, day, quoteJSON(key.Item), quoteJSON(key.Location))
		facts["balance/"+day] = fact + "}"
		if !wasBelow && closing.Cmp(threshold) < 0 {
			facts["alert/"+day] = fmt.Sprintf(`%s,"threshold":%d}`, fact, key.ReorderThreshold)
		}
	}
	return facts, true
}

// status returns the payload of a key status.
func (m *model) status(keyID int32, conflicts []string) string {
	key, status := m.cfg.StockKey(keyID), "READY"
	if len(conflicts) > 0 {
		status = "BLOCKED"
	}
	return fmt.Sprintf(`{"conflicts":[%s],"item":%s,"location":%s,"status":%q}`,
		strings.Join(conflicts, ","), quoteJSON(key.Item), quoteJSON(key.Location), status)
}

// envelope renders the next version of an output; an empty payload withdraws.
func (m *model) envelope(rec ledger.Record, tx ledger.Transaction, view *modelView, output, payload string) string {
	key := m.cfg.StockKey(tx.KeyID)
	family, day, _ := strings.Cut(output, "/")
	kinds := map[string][2]string{
		"balance": {"BalanceRetracted", "BalanceStated"}, "alert": {"AlertRetracted", "AlertRaised"}, "key-status": {"", "KeyStatusStated"},
	}
	outputID := quoteJSON(m.cfg.Namespace().Name) + "," + quoteJSON(family) + "," + quoteJSON(key.Item) + "," + quoteJSON(key.Location)
	if day != "" {
		outputID += "," + quoteJSON(day)
	}
	kind := kinds[family][1]
	if payload == "" {
		kind, payload = kinds[family][0], "null"
	}
	view.versions[output]++
	return fmt.Sprintf(`{"cause":{"revision":%d,"txn_id":%s},"namespace":%s,"output_id":[%s],"payload":%s,"schema_version":1,`+
		`"source":{"offset":%d,"partition":%d,"topic_id":%s},"type":%q,"version":%d}`,
		tx.Payload.Revision, quoteJSON(tx.TxnID), quoteJSON(m.cfg.Namespace().Name), outputID, payload,
		rec.Offset, rec.Partition, quoteJSON(m.cfg.SourceTopicID()), kind, view.versions[output])
}

// activeDays returns the days with a present balance from a day on.
func (m *model) activeDays(keyID int32, from string) map[string]bool {
	days := make(map[string]bool)
	if view := m.views[keyID]; view != nil {
		for name := range view.facts {
			if day, ok := strings.CutPrefix(name, "balance/"); ok && day >= from {
				days[day] = true
			}
		}
	}
	return days
}
