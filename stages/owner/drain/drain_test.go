package drain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view/viewtest"
)

// term is a lease that a test gives and takes.
type term int64

func (n *term) lease() drain.Lease {
	return drain.Kept(func() (int64, time.Duration, error) { return int64(*n), time.Hour, nil })
}

// process is one intake: a drain of its own and a relay.
type process struct {
	outbox    *drain.Outbox
	relay     *relay.Relay
	publisher *relaytest.Publisher
	now       time.Time
}

// start starts a process over a store and a topic of two partitions.
func start(t *testing.T, name string, store owner.Store, log *viewtest.Log, lease drain.Lease) *process {
	t.Helper()
	return startOver(t, name, outbox(t, store, lease), log)
}

// startOver starts a process over an outbox.
func startOver(t *testing.T, name string, o *drain.Outbox, log *viewtest.Log) *process {
	t.Helper()
	p := &process{outbox: o, publisher: &relaytest.Publisher{Log: log}, now: time.Unix(0, 0)}
	var err error
	p.relay, err = relay.New(relay.Options{
		Outbox: o, Publisher: p.publisher, Holder: name, Partitions: 2,
		Now: func() time.Time { return p.now }, Random: func(int64) int64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drain steps until nothing is left to do, also after the pause that follows a failure.
func (p *process) drain(t *testing.T) {
	t.Helper()
	idle := 0
	for range 100 {
		progress, _, err := p.relay.Step(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case progress:
			idle = 0
			continue
		case idle == 3:
			return
		}
		idle++
		p.now = p.now.Add(time.Minute)
	}
	t.Fatal("still progress after 100 steps")
}

// messages are n messages, of which the keys spread over both partitions of a topic.
func messages(n int) []broker.Message {
	list := make([]broker.Message, n)
	for i := range list {
		list[i] = broker.Message{Key: fmt.Appendf(nil, "key %d", i), Value: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	return list
}

// acceptAll keeps messages as requests of a virtual partition.
func acceptAll(t *testing.T, store owner.Store, partition int32, list []broker.Message) []accepted {
	t.Helper()
	var all []accepted
	var units []owner.Commit
	for i, m := range list {
		a, unit := accept(t, partition, fmt.Sprintf("%d/%d", partition, i), m)
		all, units = append(all, a), append(units, unit)
	}
	commit(t, store, units...)
	return all
}

// copies wants the topic to hold each request, its copies byte for byte the same, and returns how many of each.
func copies(t *testing.T, log *viewtest.Log, all []accepted) []int {
	t.Helper()
	want := map[string]accepted{}
	for _, a := range all {
		want[a.effectID] = a
	}
	found := map[string]int{}
	for partition := range int32(2) {
		for _, r := range log.Records(partition) {
			id := effectOf(t, r)
			if m := want[id].message; !bytes.Equal(r.Key, m.Key) || !bytes.Equal(r.Value, m.Value) {
				t.Errorf("%s: %s %s is not what was accepted", id, r.Key, r.Value)
			}
			found[id]++
		}
	}
	counts := make([]int, len(all))
	for i, a := range all {
		counts[i] = found[a.effectID]
	}
	return counts
}

// receipted wants every request to have one receipt, of a record that carries its effect.
func receipted(t *testing.T, store owner.Store, log *viewtest.Log, all []accepted) {
	t.Helper()
	listed, err := (&listing{store: store, all: map[int32][]accepted{0: all}}).List(t.Context(), 0, 1, len(all))
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range listed {
		records := log.Records(l.Receipt.Partition)
		if !l.Sent || int(l.Receipt.Offset) >= len(records) || effectOf(t, records[l.Receipt.Offset]) != all[i].effectID {
			t.Errorf("%s: sent %v, receipt %+v", all[i].effectID, l.Sent, l.Receipt)
		}
	}
	pending, err := store.Pending(t.Context(), "publish/", 10)
	if err != nil || len(pending) > 0 {
		t.Errorf("pending: %v, %v", pending, err)
	}
}

// TestR34CopiesAfterACrash: a process ends between the acknowledgement of some records and their receipts. The next one,
// under the next term, sends exactly those again, byte for byte and with the same effect in the header; what was receipted
// it does not send.
func TestR34CopiesAfterACrash(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		mark.Expect(t, "R22 fence advanced to the term")
		log, lease := viewtest.NewLog(), term(1)
		all := acceptAll(t, store, 0, messages(3))
		start(t, "first", store, log, lease.lease()).drain(t)
		rest := acceptAll(t, store, 1, messages(4))
		all = append(all, rest...)
		crashed := start(t, "second", &broken{Store: store, commits: 1}, log, lease.lease())
		if _, _, err := crashed.relay.Step(t.Context()); err == nil {
			t.Fatal("recorded over a broken store")
		}
		lease = 2
		start(t, "third", store, log, lease.lease()).drain(t)
		if diff := cmp.Diff([]int{1, 1, 1, 2, 2, 2, 2}, copies(t, log, all)); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
		receipted(t, store, log, all)
		for i, a := range all {
			image, err := store.Image(t.Context(), a.ownerID)
			if err != nil || image.Fence != uint64(1+min(i/3, 1)) || image.Position != 2 {
				t.Errorf("%s: fence %d position %d, %v", a.ownerID, image.Fence, image.Position, err)
			}
		}
	})
}

// broken is a store that fails some commits: before they happen, or after, so that nobody knows.
type broken struct {
	owner.Store
	commits int
	after   bool
}

func (b *broken) Commit(ctx context.Context, commits ...owner.Commit) ([]owner.Result, error) {
	if b.commits == 0 {
		return b.Store.Commit(ctx, commits...)
	}
	b.commits--
	if b.after {
		if _, err := b.Store.Commit(ctx, commits...); err != nil {
			return nil, err
		}
	}
	return nil, owner.ErrUnknownOutcome
}

// TestR34NoCopyWithoutACrash: where receipts cannot be recorded, or nobody knows whether they were, they are recorded
// before anything else is read or sent, and nothing is sent twice.
func TestR34NoCopyWithoutACrash(t *testing.T) {
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			mark.Expect(t, "R34 receipt recorded after a failure")
			store, log, lease := &broken{Store: memory.New(), after: after, commits: 2}, viewtest.NewLog(), term(1)
			all := acceptAll(t, store.Store, 0, messages(5))
			p := start(t, "p", store, log, lease.lease())
			for range 2 {
				if _, _, err := p.relay.Step(t.Context()); !errors.Is(err, owner.ErrUnknownOutcome) {
					t.Fatalf("step: %v", err)
				}
			}
			all = append(all, acceptAll(t, store, 1, messages(2))...)
			p.drain(t)
			if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 1}, copies(t, log, all)); diff != "" {
				t.Errorf("copies (-want +got):\n%s", diff)
			}
			receipted(t, store, log, all)
			if got, want := p.outbox.Counts(), (drain.Counts{Published: 7}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestR34RefusedRecordIsSentAgain: an effect whose record the broker refused is sent again, and counted where it may have
// arrived all the same.
func TestR34RefusedRecordIsSentAgain(t *testing.T) {
	store, log, lease := memory.New(), viewtest.NewLog(), term(1)
	all := acceptAll(t, store, 0, messages(3))
	p := start(t, "p", store, log, lease.lease())
	p.publisher.Fate = func(n int, _ broker.Message) relaytest.Fate {
		if n == 1 {
			return relaytest.LoseAck
		}
		return relaytest.Deliver
	}
	if _, _, err := p.relay.Step(t.Context()); !errors.Is(err, relaytest.ErrPublish) {
		t.Fatalf("step: %v", err)
	}
	p.drain(t)
	if diff := cmp.Diff([]int{1, 2, 2}, copies(t, log, all)); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	receipted(t, store, log, all)
	if got, want := p.outbox.Counts(), (drain.Counts{Published: 3, Repeated: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestR22SupersededProcessRecordsNothing: a process that does not know that its lease is another's by now sends a copy at
// most. Its receipts are refused by the owners' fence, and it believes in no lease of that term again.
func TestR22SupersededProcessRecordsNothing(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		mark.Expect(t, "R22 owner is fenced by a later term")
		log, old, later := viewtest.NewLog(), term(1), term(2)
		all := acceptAll(t, store, 0, messages(2))
		frozen, successor := start(t, "frozen", store, log, old.lease()), start(t, "successor", store, log, later.lease())
		stuck := acceptAll(t, store, 1, messages(1))
		frozen.publisher.Before = func() {
			frozen.publisher.Before = nil
			// The successor takes one over, and is stopped before it has sent it.
			successor.publisher.Fate = func(int, broker.Message) relaytest.Fate { return relaytest.Reject }
			if _, _, err := successor.relay.Step(t.Context()); !errors.Is(err, relaytest.ErrPublish) {
				t.Errorf("successor: %v", err)
			}
		}
		for range 3 {
			if _, _, err := frozen.relay.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if frozen.relay.Holding() != 0 || frozen.outbox.Counts() != (drain.Counts{}) {
			t.Errorf("term %d, %+v", frozen.relay.Holding(), frozen.outbox.Counts())
		}
		successor.publisher.Fate = nil
		successor.drain(t)
		all = append(all, stuck...)
		if diff := cmp.Diff([]int{2, 2, 1}, copies(t, log, all)); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
		receipted(t, store, log, all)
		old = 3 // taken anew
		more, unit := accept(t, 0, "more", messages(1)[0])
		commit(t, store, unit)
		frozen.drain(t)
		receipted(t, store, log, append(all, more))
	})
}

// TestR34ForeignReceiptStands: another process recorded the receipt of its own copy under the same term; this one's copy is
// counted as foreign, and the receipt stays what it was.
func TestR34ForeignReceiptStands(t *testing.T) {
	mark.Expect(t, "R34 another process recorded the receipt")
	store, log, lease := memory.New(), viewtest.NewLog(), term(1)
	all := acceptAll(t, store, 0, messages(2))
	p, other := start(t, "p", store, log, lease.lease()), start(t, "other", store, log, lease.lease())
	p.publisher.Before = func() {
		p.publisher.Before = nil
		other.drain(t)
	}
	p.drain(t)
	receipted(t, store, log, all)
	if got, want := p.outbox.Counts(), (drain.Counts{Foreign: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	image, err := store.Image(t.Context(), all[0].ownerID)
	if err != nil || image.Position != 2 || len(image.Receipts) != 1 {
		t.Errorf("%+v, %v", image, err)
	}
}

// TestOwnerMovedUnderAReceipt: something else is committed to the owner between the sending and the receipt.
func TestOwnerMovedUnderAReceipt(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		mark.Expect(t, "R29 owner moved under a receipt")
		log, lease := viewtest.NewLog(), term(1)
		all := acceptAll(t, store, 0, messages(2))
		p := start(t, "p", store, log, lease.lease())
		p.publisher.Before = func() {
			p.publisher.Before = nil
			commit(t, store, owner.Commit{
				OwnerID: all[1].ownerID, ExpectedPosition: 1, Fence: 1, Inbox: owner.Inbox{ID: "note"}, Append: []owner.Payload{payload(t, "noted")},
			})
		}
		p.drain(t)
		receipted(t, store, log, all)
		if diff := cmp.Diff([]int{1, 1}, copies(t, log, all)); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
		if image, err := store.Image(t.Context(), all[1].ownerID); err != nil || image.Position != 3 {
			t.Errorf("%+v, %v", image, err)
		}
	})
}

// TestEffectsOfOneOwner: several effects of one owner are settled in one group.
func TestEffectsOfOneOwner(t *testing.T) {
	store, log, lease := memory.New(), viewtest.NewLog(), term(1)
	_, unit := accept(t, 0, "one", messages(1)[0])
	var all []accepted
	unit.Effects = nil
	for i, m := range messages(4) {
		id := fmt.Sprint(prefixes[0], "one/", i)
		unit.Effects = append(unit.Effects, owner.Effect{ID: id, Payload: payload(t, m)})
		all = append(all, accepted{ownerID: unit.OwnerID, effectID: id, message: m})
	}
	commit(t, store, unit)
	start(t, "p", store, log, lease.lease()).drain(t)
	if diff := cmp.Diff([]int{1, 1, 1, 1}, copies(t, log, all)); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	image, err := store.Image(t.Context(), unit.OwnerID)
	if err != nil || image.Position != 5 || len(image.Receipts) != 4 || len(image.PendingEffectIDs) != 0 {
		t.Errorf("%+v, %v", image, err)
	}
}

// TestUnreadableEffectStopsItsPartition: what stands before it is sent, the other source partition goes on, and the next
// process stops there too.
func TestUnreadableEffectStopsItsPartition(t *testing.T) {
	store, log, lease := memory.New(), viewtest.NewLog(), term(1)
	all := acceptAll(t, store, 0, messages(2))
	_, unit := accept(t, 0, "bad", messages(1)[0])
	unit.Effects[0].Payload.Bytes = []byte("{")
	commit(t, store, unit)
	all = append(all, acceptAll(t, store, 1, messages(2))...)
	for _, name := range []string{"first", "second"} {
		p := start(t, name, store, log, lease.lease())
		p.drain(t)
		positions, err := p.outbox.Positions(t.Context())
		if err != nil || positions[0].Stopped != relay.ReasonOutboxDamaged || positions[1].Stopped != "" {
			t.Errorf("%s: %+v, %v", name, positions, err)
		}
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1}, copies(t, log, all)); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}

// TestStrangeAnswerStops: a store that refuses a receipt for a reason that no other process explains is a bug.
func TestStrangeAnswerStops(t *testing.T) {
	store, log, lease := memory.New(), viewtest.NewLog(), term(1)
	acceptAll(t, store, 0, messages(1))
	o, err := drain.New(drain.Options{
		Store: store, Lease: lease.lease(), Prefixes: prefixes, Message: message,
		Acknowledged: func(p owner.Pending, at relay.Receipt) (owner.Commit, error) {
			c, err := published(p, at)
			c.Receipts[0].EffectID = "another"
			return c, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := startOver(t, "p", o, log)
	if _, _, err := p.relay.Step(t.Context()); fault.ClassOf(err) != fault.Stop {
		t.Errorf("%v (%v), want a stop", err, fault.ClassOf(err))
	}
}

// TestNewRefuses options that cannot work.
func TestNewRefuses(t *testing.T) {
	var none term
	good := drain.Options{Store: memory.New(), Lease: none.lease(), Prefixes: prefixes, Message: message, Acknowledged: published}
	if _, err := drain.New(good); err != nil {
		t.Errorf("the undamaged twin: %v", err)
	}
	for name, damage := range map[string]func(*drain.Options){
		"no store": func(o *drain.Options) { o.Store = nil }, "no prefix": func(o *drain.Options) { o.Prefixes = nil },
		"no lease": func(o *drain.Options) { o.Lease = nil },
	} {
		options := good
		damage(&options)
		if _, err := drain.New(options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// readings counts the looks for pending effects.
type readings struct {
	owner.Store
	n int
}

func (r *readings) Pending(ctx context.Context, prefix string, limit int) ([]owner.Pending, error) {
	r.n++
	return r.Store.Pending(ctx, prefix, limit)
}

// TestReadings: however many source partitions there are, one look says that nothing is pending; what is pending of each is
// found where others fill the window, or stand before it.
func TestReadings(t *testing.T) {
	store, log, lease := &readings{Store: memory.New()}, viewtest.NewLog(), term(1)
	o, err := drain.New(drain.Options{
		Store: store, Lease: lease.lease(), Prefixes: prefixes, Message: message, Acknowledged: published, Window: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	ends := func() (ends []int64) {
		t.Helper()
		positions, err := o.Positions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range positions {
			ends = append(ends, p.End-p.Sent)
		}
		return ends
	}
	if got := ends(); store.n != 1 || got[0]+got[1] != 0 {
		t.Errorf("%d looks, %v pending", store.n, got)
	}
	all := acceptAll(t, store, 0, messages(5))
	all = append(all, acceptAll(t, store, 1, messages(2))...)
	if got := ends(); got[0] != 3 || got[1] != 2 {
		t.Errorf("%v pending", got)
	}
	startOver(t, "p", o, log).drain(t)
	receipted(t, store, log, all)
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 1}, copies(t, log, all)); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	_, foreign := accept(t, 0, "foreign", messages(1)[0]) // pending for somebody else, and first
	foreign.Effects[0].ID = "publish/elsewhere"
	commit(t, store, foreign)
	_, unit := accept(t, 1, "late", messages(1)[0])
	commit(t, store, unit)
	if got := ends(); got[0] != 0 || got[1] != 1 {
		t.Errorf("%v pending", got)
	}
}
