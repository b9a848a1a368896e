package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// published is what the demo reads of an envelope: only what its table shows.
type published struct {
	// Cause is the zero value where the envelope names none.
	Cause   cause `json:"cause"`
	Payload *struct {
		Day   string `json:"day"`
		Close int64  `json:"close"`
	} `json:"payload"`
	OutputID []string `json:"output_id"`
	Type     string   `json:"type"`
}

// cause is the transaction revision that an output is attributed to.
type cause struct {
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
}

// facts are the balances and crossings of one key by day, as published so far.
type facts struct {
	closes map[string]int64
	alerts map[string]bool
}

// clone copies the facts as they stand.
func (f facts) clone() facts {
	return facts{closes: maps.Clone(f.closes), alerts: maps.Clone(f.alerts)}
}

// amendment is SC02 as the output topic tells it: the key's facts before the amendment's outputs and after them.
type amendment struct {
	key           manifests.StockKey
	before, after facts
}

// readAmendment replays the outputs of the story's key until its first amendment is through, or the topic's end. It
// returns nil where the key has no amendment.
func readAmendment(ctx context.Context, ns *manifests.Namespace, keyID int32, opener broker.Opener, ends []int64) (*amendment, error) {
	key := ns.Spec.StockKeys[keyID]
	brokerKey := ledger.BrokerKey(key.Item, key.Location)
	partition := ledger.PartitionOf(brokerKey, ns.Spec.Output.Partitions)
	reader, err := opener.Open(ctx, partition, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	t := teller{story: amendment{key: key}, now: facts{closes: map[string]int64{}, alerts: map[string]bool{}}}
	for next := int64(0); next < ends[partition] && !t.told; {
		fetch, err := reader.Poll(ctx, 1000)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next = fetch.Next
		for _, record := range fetch.Records {
			if !bytes.Equal(record.Key, brokerKey) {
				continue
			}
			var p published
			if err := json.Unmarshal(record.Value, &p); err != nil || len(p.OutputID) == 0 {
				return nil, fmt.Errorf("output partition %d offset %d is no envelope: %w", partition, record.Offset, err)
			}
			t.hear(p)
		}
	}
	return t.end(), nil
}

// teller follows one key's outputs up to the end of its first amendment.
type teller struct {
	story amendment
	now   facts
	by    cause // the amendment, zero before it
	told  bool
}

// hear takes the next output.
func (t *teller) hear(p published) {
	switch {
	case t.told:
		return
	case t.by == (cause{}) && p.Cause.Revision > 1:
		t.by, t.story.before = p.Cause, t.now.clone()
	case t.by != (cause{}) && p.Cause != t.by:
		t.told = true
		return
	}
	t.now.apply(p)
}

// end is the story, nil where there was no amendment.
func (t *teller) end() *amendment {
	if t.by == (cause{}) {
		return nil
	}
	t.story.after = t.now
	return &t.story
}

// apply brings the facts up to one more output. A withdrawal has no payload: its day stands in the output ID.
func (f facts) apply(p published) {
	switch {
	case p.Type == "BalanceStated" && p.Payload != nil:
		f.closes[p.Payload.Day] = p.Payload.Close
	case p.Type == "BalanceRetracted":
		delete(f.closes, p.OutputID[len(p.OutputID)-1])
	case p.Type == "AlertRaised" && p.Payload != nil:
		f.alerts[p.Payload.Day] = true
	case p.Type == "AlertRetracted":
		delete(f.alerts, p.OutputID[len(p.OutputID)-1])
	}
}

// table is the key's days before and after, in lines.
func (a *amendment) table() []string {
	days := maps.Clone(a.before.closes)
	maps.Copy(days, a.after.closes)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintf(table, "  day\tbefore\t\tafter\t\n") // a Builder does not fail
	for _, day := range slices.Sorted(maps.Keys(days)) {
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", day,
			a.before.close(day), a.before.crossing(day), a.after.close(day), a.after.crossing(day))
	}
	_ = table.Flush()
	var rows []string
	for line := range strings.Lines(text.String()) {
		rows = append(rows, strings.TrimRight(line, " \n"))
	}
	return rows
}

// close is a day's balance as the table shows it.
func (f facts) close(day string) string {
	if value, ok := f.closes[day]; ok {
		return strconv.FormatInt(value, 10)
	}
	return "-"
}

// crossing marks a day with a reorder alert.
func (f facts) crossing(day string) string {
	if f.alerts[day] {
		return "reorder alert"
	}
	return ""
}
