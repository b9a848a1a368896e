package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// published is what the demo reads of an envelope: only what its table shows.
type published struct {
	Cause *struct {
		TxnID    string `json:"txn_id"`
		Revision int64  `json:"revision"`
	} `json:"cause"`
	Payload *struct {
		Day   string `json:"day"`
		Close int64  `json:"close"`
	} `json:"payload"`
	OutputID []string `json:"output_id"`
	Type     string   `json:"type"`
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

// amendment is SC02 as the output topic tells it: the key's facts before the amendment's first output and at the end.
type amendment struct {
	key           manifests.StockKey
	before, after facts
}

// readAmendment replays the outputs of the story's key, up to the topic's end.
func readAmendment(ctx context.Context, ns *manifests.Namespace, keyID int32, opener broker.Opener, ends []int64) (*amendment, error) {
	key := ns.Spec.StockKeys[keyID]
	brokerKey := string(ledger.BrokerKey(key.Item, key.Location))
	partition := ledger.PartitionOf([]byte(brokerKey), ns.Spec.Output.Partitions)
	reader, err := opener.Open(ctx, partition, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	now := facts{closes: map[string]int64{}, alerts: map[string]bool{}}
	story := &amendment{key: key}
	amended := false
	for next := int64(0); next < ends[partition]; {
		fetch, err := reader.Poll(ctx, 1000)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next = fetch.Next
		for _, record := range fetch.Records {
			if string(record.Key) != brokerKey {
				continue
			}
			var p published
			if err := json.Unmarshal(record.Value, &p); err != nil || len(p.OutputID) == 0 {
				return nil, fmt.Errorf("output partition %d offset %d is no envelope: %w", partition, record.Offset, err)
			}
			if !amended && p.Cause != nil && p.Cause.Revision > 1 {
				amended = true
				story.before = now.clone()
			}
			now.apply(p)
		}
	}
	if !amended {
		return nil, nil
	}
	story.after = now
	return story, nil
}

// apply brings the facts up to one more output. A withdrawal has no payload: its day stands in the output ID.
func (f facts) apply(p published) {
	switch p.Type {
	case "BalanceStated":
		f.closes[p.Payload.Day] = p.Payload.Close
	case "BalanceRetracted":
		delete(f.closes, p.OutputID[len(p.OutputID)-1])
	case "AlertRaised":
		f.alerts[p.Payload.Day] = true
	case "AlertRetracted":
		delete(f.alerts, p.OutputID[len(p.OutputID)-1])
	}
}

// print writes the key's days before and after.
func (a *amendment) print(w io.Writer) error {
	days := maps.Clone(a.before.closes)
	maps.Copy(days, a.after.closes)
	table := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintf(table, "  day\tbefore\t\tafter\t\n")
	for _, day := range slices.Sorted(maps.Keys(days)) {
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", day,
			a.before.close(day), a.before.crossing(day), a.after.close(day), a.after.crossing(day))
	}
	return table.Flush()
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
