package memory

import (
	"slices"
	"sync"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
)

// appended are rows that tests append by hand.
type appended struct {
	mu   sync.Mutex
	rows map[int32][]relay.Envelope
}

func (a *appended) append(partition int32, messages []broker.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messages {
		seq := int64(len(a.rows[partition])) + 1
		a.rows[partition] = append(a.rows[partition], relay.Envelope{Seq: seq, Key: m.Key, Value: m.Value, Headers: m.Headers})
	}
}

// End implements Rows.
func (a *appended) End(partition int32) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.rows[partition])) + 1
}

// Window implements Rows.
func (a *appended) Window(partition int32, from int64, limit int) []relay.Envelope {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows := a.rows[partition]
	rest := rows[min(max(from-1, 0), int64(len(rows))):]
	return slices.Clone(rest[:min(limit, len(rest))])
}
