package drain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/owner/memory"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
)

// stores are what every test runs over.
var stores = map[string]func(*testing.T) owner.Store{
	"memory": func(*testing.T) owner.Store { return memory.New() },
	"postgres": func(t *testing.T) owner.Store {
		url := pg.New(t)
		open := func(schema string) *postgres.Pool {
			pool, err := postgres.Connect(t.Context(), postgres.Options{URL: url, Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			return pool
		}
		if err := postgres.Migrate(t.Context(), open(""), postgres.KindOwner, "owners"); err != nil {
			t.Fatal(err)
		}
		return ownerpg.New(open("owners"))
	},
}

// each runs a test over every store.
func each(t *testing.T, test func(t *testing.T, store owner.Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// payload is JSON of version 1.
func payload(t *testing.T, value any) owner.Payload {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: text}
}

// message renders what accept keeps.
func message(effect owner.Effect) (m broker.Message, err error) {
	if err := json.Unmarshal(effect.Payload.Bytes, &m); err != nil {
		return m, fmt.Errorf("not a message: %w", err)
	}
	return m, nil
}

// published is the unit of work of an acknowledgement.
func published(p owner.Pending, at relay.Receipt) (owner.Commit, error) {
	text, err := json.Marshal(at)
	if err != nil {
		return owner.Commit{}, err
	}
	where := owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: text}
	return owner.Commit{
		OwnerID: p.OwnerID, ExpectedPosition: p.Position, Fence: p.Fence,
		Inbox: owner.Inbox{ID: p.ID + "/published", Fingerprint: text}, Append: []owner.Payload{where},
		Receipts: []owner.Receipt{{ID: p.ID + "/published", EffectID: p.ID, Outcome: "published", Payload: where}},
	}, nil
}

// prefixes are the source partitions of the tests.
var prefixes = []string{"publish/0/", "publish/1/"}

// accepted is a request of the tests.
type accepted struct {
	ownerID, effectID string
	message           broker.Message
}

// accept is the unit of work that keeps a message, created under fence 1.
func accept(t *testing.T, partition int32, name string, m broker.Message) (accepted, owner.Commit) {
	t.Helper()
	a := accepted{ownerID: "request/" + name, effectID: prefixes[partition] + name, message: m}
	return a, owner.Commit{
		OwnerID: a.ownerID, Create: &owner.Config{Mode: owner.EventHistory, Fence: 1}, Fence: 1,
		Inbox: owner.Inbox{ID: "request", Fingerprint: []byte(name)}, Append: []owner.Payload{payload(t, "accepted")},
		Effects: []owner.Effect{{ID: a.effectID, Payload: payload(t, m)}},
	}
}

// commit makes units of work durable.
func commit(t *testing.T, store owner.Store, units ...owner.Commit) {
	t.Helper()
	results, err := store.Commit(t.Context(), units...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Outcome != owner.Committed {
			t.Fatalf("%s: %s", r.Outcome, r.Detail)
		}
	}
}

// outbox drains a store under a lease of its own or another's.
func outbox(t *testing.T, store owner.Store, lease drain.Lease) *drain.Outbox {
	t.Helper()
	o, err := drain.New(drain.Options{Store: store, Lease: lease, Prefixes: prefixes, Message: message, Acknowledged: published})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// listing lists what was accepted with the receipts that the store has.
type listing struct {
	store owner.Store
	all   map[int32][]accepted
}

// List implements relay.Lister.
func (l *listing) List(ctx context.Context, partition int32, from int64, limit int) ([]relay.Listed, error) {
	var listed []relay.Listed
	for i, a := range l.all[partition] {
		seq := int64(i) + 1
		if seq < from || len(listed) == limit {
			continue
		}
		image, err := l.store.Image(ctx, a.ownerID)
		if err != nil {
			return nil, err
		}
		one := relay.Listed{Envelope: relay.Envelope{Seq: seq, Key: a.message.Key, Value: a.message.Value, Headers: a.message.Headers}}
		for _, r := range image.Receipts {
			one.Sent = true
			if err := json.Unmarshal(r.Payload.Bytes, &one.Receipt); err != nil {
				return nil, err
			}
		}
		listed = append(listed, one)
	}
	return listed, nil
}

// harness is an empty store for the relay's suite.
func harness(t *testing.T, store owner.Store) relaytest.Harness {
	t.Helper()
	now := time.Unix(1_000_000, 0)
	lease := relaytest.NewStore(0, func() time.Time { return now })
	all := &listing{store: store, all: map[int32][]accepted{}}
	return relaytest.Harness{
		Outbox: outbox(t, store, lease), Lister: all,
		Prepare: func(t *testing.T, partition int32, messages []broker.Message) func() {
			return func() {
				t.Helper()
				var units []owner.Commit
				for _, m := range messages {
					a, unit := accept(t, partition, fmt.Sprintf("%d-%d", partition, len(all.all[partition])), m)
					all.all[partition] = append(all.all[partition], a)
					units = append(units, unit)
				}
				commit(t, store, units...)
			}
		},
		Elapse: func(_ *testing.T, d time.Duration) { now = now.Add(d) },
	}
}

// TestOutbox runs the scenarios of every relay.Outbox over owners.
func TestOutbox(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			relaytest.Suite(t, func(t *testing.T) relaytest.Harness { return harness(t, open(t)) })
		})
	}
}

// effectOf is the effect that a record names in its header, exactly one.
func effectOf(t *testing.T, r broker.Record) string {
	t.Helper()
	var ids []string
	for _, h := range r.Headers {
		if h.Key == drain.EffectHeader {
			ids = append(ids, string(h.Value))
		}
	}
	if len(ids) != 1 {
		t.Fatalf("record at %d/%d names effects %s", r.Partition, r.Offset, strings.Join(ids, ", "))
	}
	return ids[0]
}
