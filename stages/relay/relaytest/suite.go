package relaytest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
)

const day1 = "2026-01-01"

// balance1 is the output ID of most scenarios: stock key 1, which maps to output partition 0.
var balance1 = view.ID{Family: view.FamilyBalance, KeyID: 1, Day: 20454}

// Suite runs the scenarios that every relay.Outbox must pass, through the Relay shell and on the Outbox itself. open
// returns a fresh, empty outbox of SourcePartitions source partitions for each.
func Suite(t *testing.T, open func(*testing.T) Harness) {
	t.Helper()
	scenarios := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"R19_PublishesAndKeepsReceipts", receipts},
		{"R19_StopsInsideAPackedRow", insideRow},
		{"B052_UncommittedSequencesAreNotSkipped", uncommitted},
		{"B054_TwoRelays", twoRelays},
		{"B055_FirstFailsLaterAcknowledged", firstFails},
		{"SC20_B057_CrashBetweenAckAndMark", crashBeforeMark},
		{"SC20_UnknownOutcomeOfAMark", unknownMark},
		{"SC20_LostAcknowledgement", lostAck},
		{"R17_FrozenRelay", frozen},
		{"R17_NothingIsSentLateInTheLease", lateInLease},
		{"S9_ShutdownInMidProduce", shutdown},
		{"R17_CloseFreesTheLease", closeFrees},
		{"R17_CloseWithMessagesOnTheirWay", closeUnsettled},
		{"S9_OnePartitionFailsOthersGoOn", othersGoOn},
		{"R36_BackoffOfOnePartition", backoffAlone},
		{"SC28_TopicRecreated", recreated},
		{"R36_DamagedOutboxStopsItsPartition", damaged},
		{"OutboxLease", outboxLease},
		{"OutboxMarkIsConditional", outboxMark},
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.run(t, newFixture(t, open)) })
	}
}

func receipts(t *testing.T, f *fixture) {
	one, other := f.key(1), f.key(2)
	a, b, c := one.Balance(day1, 1, 10), other.Balance(day1, 1, 20), one.Balance(day1, 2, 30)
	b.Headers = []broker.Header{{Key: "first", Value: []byte("1")}, {Key: "second", Value: []byte{0, 255}}}
	f.commit(t, 0, a, b)
	f.commit(t, 0, c)
	r := f.relay(t, "r", f.publisher(nil))
	drain(t, r)
	f.topic(t, 0, a, c)
	f.topic(t, 1, b)
	f.sent(t, 0, 4, 4)
	f.sent(t, 1, 1, 1)
	if got := r.Status(); len(got) != SourcePartitions || got[0].Frontier != 4 || *got[0].LagRecords != 0 || got[0].Owner != "r" {
		t.Errorf("status %+v", got)
	}
	listed, err := f.Lister.List(t.Context(), 0, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []relay.Listed{
		{Envelope: relay.Envelope{Seq: 1, Key: a.Key, Value: a.Value}, Sent: true, Receipt: relay.Receipt{Partition: 0, Offset: 0}},
		{Envelope: relay.Envelope{Seq: 2, Key: b.Key, Value: b.Value, Headers: b.Headers}, Sent: true, Receipt: relay.Receipt{Partition: 1, Offset: 0}},
		{Envelope: relay.Envelope{Seq: 3, Key: c.Key, Value: c.Value}, Sent: true, Receipt: relay.Receipt{Partition: 0, Offset: 1}},
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

// insideRow sends a row of eight in units of three, over a restart: the sent-through sequence stands inside the row.
func insideRow(t *testing.T, f *fixture) {
	f.maxEnvelopes = 3
	var messages []broker.Message
	for version := range int64(8) {
		messages = append(messages, f.key(1).Balance(day1, version+1, version))
	}
	f.commit(t, 0, messages...)
	first := f.relay(t, "first", f.publisher(nil))
	step(t, first)
	f.sent(t, 0, 4, 9)
	listed, err := f.Lister.List(t.Context(), 0, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[int64]bool{}
	for _, l := range listed {
		sent[l.Seq] = l.Sent
	}
	if diff := cmp.Diff(map[int64]bool{3: true, 4: false, 5: false}, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if err = first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	drain(t, f.relay(t, "second", f.publisher(nil)))
	f.sent(t, 0, 9, 9)
	f.topic(t, 0, messages...)
}

func uncommitted(t *testing.T, f *fixture) {
	a, b := f.key(1).Balance(day1, 1, 10), f.key(2).Balance(day1, 1, 20)
	commit := f.Prepare(t, 0, []broker.Message{a})
	f.commit(t, 1, b)
	r := f.relay(t, "r", f.publisher(nil))
	drain(t, r)
	f.topic(t, 1, b)
	f.topic(t, 0)
	f.sent(t, 1, 2, 2)
	commit()
	drain(t, r)
	f.topic(t, 0, a)
	f.sent(t, 0, 2, 2)
}

func twoRelays(t *testing.T, f *fixture) {
	f.maxEnvelopes = 100
	perKey := map[string][]string{}
	for row := range 10 {
		var messages []broker.Message
		for i := range 50 {
			m := f.key(i%3).Balance(day1, int64(row*50+i+1), int64(i))
			perKey[string(m.Key)] = append(perKey[string(m.Key)], string(m.Value))
			messages = append(messages, m)
		}
		f.commit(t, int32(row%2), messages...)
	}
	first, second := f.relay(t, "first", f.publisher(nil)), f.relay(t, "second", f.publisher(nil))
	for range 4 {
		step(t, first)
		if step(t, second) {
			t.Fatal("the second relay worked while the first holds the lease")
		}
	}
	f.elapse(t, leaseTTL+time.Second) // the first is gone
	drain(t, second)
	if second.Holding() != 2 {
		t.Errorf("the second relay holds term %d, want 2", second.Holding())
	}
	drain(t, first) // stands by
	for partition := range int32(2) {
		f.sent(t, partition, 251, 251)
	}
	total := 0
	for partition := range f.namespace.Spec.Output.Partitions {
		total += len(f.log.Records(partition))
	}
	if total != 500 {
		t.Errorf("%d messages in the topic, want each of 500 once", total)
	}
	f.materialize(t)
}

// firstFails: the broker refuses version 1 once, after which versions 2 and 3 arrive. Nothing is marked past the gap,
// and version 1, which arrives last, does not overwrite version 3.
func firstFails(t *testing.T, f *fixture) {
	mark.Expect(t, "SC20 publication not acknowledged")
	k := f.key(1)
	v1, v2, v3 := k.Balance(day1, 1, 10), k.Balance(day1, 2, 20), k.Balance(day1, 3, 30)
	f.commit(t, 0, v1, v2, v3)
	r := f.relay(t, "r", f.publisher(func(n int, _ broker.Message) Fate {
		if n == 0 {
			return Reject
		}
		return Deliver
	}))
	if _, _, err := r.Step(t.Context()); !errors.Is(err, ErrPublish) {
		t.Fatalf("Step: %v, want the publish failure", err)
	}
	f.sent(t, 0, 1, 4)
	drain(t, r)
	f.sent(t, 0, 4, 4)
	f.topic(t, 0, v2, v3, v1, v2, v3)
	if row := f.materialize(t).Rows[balance1]; row.Version != 3 || row.Close != 30 {
		t.Errorf("the view shows version %d close %d, want version 3", row.Version, row.Close)
	}
}

func crashBeforeMark(t *testing.T, f *fixture) {
	mark.Expect(t, "relay.1 sent as stored")
	k := f.key(1)
	v1, v2 := k.Balance(day1, 1, 10), k.NoBalance(day1, 2)
	f.commit(t, 0, v1, v2)
	f.faulty.Next = BeforeMark
	if _, _, err := f.relay(t, "crashed", f.publisher(nil)).Step(t.Context()); !errors.Is(err, ErrMark) {
		t.Fatalf("Step: %v, want the crash", err)
	}
	f.sent(t, 0, 1, 3)
	once := f.materialize(t)
	f.elapse(t, leaseTTL+time.Second)
	drain(t, f.relay(t, "successor", f.publisher(nil)))
	f.sent(t, 0, 3, 3)
	f.topic(t, 0, v1, v2, v1, v2) // byte for byte
	if diff := cmp.Diff(once.Rows, f.materialize(t).Rows); diff != "" {
		t.Errorf("the repeat changed the view (-once +twice):\n%s", diff)
	}
}

func unknownMark(t *testing.T, f *fixture) {
	v1 := f.key(1).Balance(day1, 1, 10)
	f.commit(t, 0, v1)
	f.faulty.Next = AfterMark
	r := f.relay(t, "r", f.publisher(nil))
	if _, _, err := r.Step(t.Context()); !errors.Is(err, ErrMark) {
		t.Fatalf("Step: %v, want the lost answer", err)
	}
	drain(t, r)
	f.sent(t, 0, 2, 2)
	f.topic(t, 0, v1)
}

func lostAck(t *testing.T, f *fixture) {
	mark.Expect(t, "SC20 publication not acknowledged")
	k := f.key(1)
	v1, v2, v3 := k.Balance(day1, 1, 10), k.Balance(day1, 2, 20), k.Balance(day1, 3, 30)
	f.commit(t, 0, v1, v2, v3)
	r := f.relay(t, "r", f.publisher(func(n int, _ broker.Message) Fate {
		if n == 1 {
			return LoseAck
		}
		return Deliver
	}))
	if _, _, err := r.Step(t.Context()); !errors.Is(err, ErrPublish) {
		t.Fatalf("Step: %v, want the publish failure", err)
	}
	f.sent(t, 0, 2, 4)
	drain(t, r)
	f.sent(t, 0, 4, 4)
	f.topic(t, 0, v1, v2, v3, v2, v3)
	f.materialize(t)
}

// frozen stops a relay in mid-produce for longer than its lease: the successor waits out the term and drains; the old
// one's messages still arrive when it wakes, as repeats, and its mark is refused.
func frozen(t *testing.T, f *fixture) {
	mark.Expect(t, "R17 mark refused")
	k := f.key(1)
	v1, v2 := k.Balance(day1, 1, 10), k.Balance(day1, 2, 20)
	f.commit(t, 0, v1)
	successor := f.relay(t, "successor", f.publisher(nil))
	publisher := f.publisher(nil)
	old := f.relay(t, "old", publisher)
	publisher.Before = func() {
		publisher.Before = nil
		f.elapse(t, leaseTTL-time.Second)
		if step(t, successor) || successor.Holding() != 0 {
			t.Error("the successor did not wait the old term out")
		}
		f.elapse(t, 2*time.Second)
		drain(t, successor)
		f.commit(t, 0, v2)
		drain(t, successor)
		f.sent(t, 0, 3, 3)
	}
	step(t, old)
	if old.Holding() != 0 {
		t.Errorf("the old relay still holds term %d", old.Holding())
	}
	f.sent(t, 0, 3, 3)
	f.topic(t, 0, v1, v2, v1)
	if row := f.materialize(t).Rows[balance1]; row.Version != 2 {
		t.Errorf("the view shows version %d, want 2", row.Version)
	}
	if step(t, old) {
		t.Error("the old relay works on although the successor holds the lease")
	}
}

// lateInLease lets reading the outbox take most of the lease: nothing is sent until it was renewed.
func lateInLease(t *testing.T, f *fixture) {
	mark.Expect(t, "R17 lease too short to send")
	v1 := f.key(1).Balance(day1, 1, 10)
	f.commit(t, 0, v1)
	slow := &slowOutbox{Outbox: f.Outbox, slow: func() { f.elapse(t, leaseTTL-deliveryTimeout) }}
	f.faulty.Outbox = slow
	r := f.relay(t, "r", f.publisher(nil))
	step(t, r)
	f.topic(t, 0)
	f.sent(t, 0, 1, 2)
	slow.slow = func() {}
	drain(t, r)
	f.topic(t, 0, v1)
	if r.Holding() != 1 {
		t.Errorf("renewal changed the term to %d", r.Holding())
	}
}

// shutdown ends the context in mid-produce: what was sent is marked all the same.
func shutdown(t *testing.T, f *fixture) {
	v1 := f.key(1).Balance(day1, 1, 10)
	f.commit(t, 0, v1)
	ctx, cancel := context.WithCancel(t.Context())
	publisher := f.publisher(nil)
	publisher.Before = cancel
	if _, _, err := f.relay(t, "r", publisher).Step(ctx); err != nil {
		t.Fatalf("Step: %v", err)
	}
	f.sent(t, 0, 2, 2)
	f.topic(t, 0, v1)
}

func closeFrees(t *testing.T, f *fixture) {
	f.commit(t, 0, f.key(1).Balance(day1, 1, 10))
	first, second := f.relay(t, "first", f.publisher(nil)), f.relay(t, "second", f.publisher(nil))
	drain(t, first)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	step(t, second)
	if second.Holding() != 2 {
		t.Errorf("the second relay holds term %d, want 2 at once", second.Holding())
	}
}

// closeUnsettled: after a failed publication copies may still be on their way, so the term is left to expire.
func closeUnsettled(t *testing.T, f *fixture) {
	f.commit(t, 0, f.key(1).Balance(day1, 1, 10))
	first := f.relay(t, "first", f.publisher(func(int, broker.Message) Fate { return LoseAck }))
	if _, _, err := first.Step(t.Context()); !errors.Is(err, ErrPublish) {
		t.Fatalf("Step: %v, want the publish failure", err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := f.relay(t, "second", f.publisher(nil))
	if step(t, second) || second.Holding() != 0 {
		t.Error("the second relay did not wait the first one's term out")
	}
}

func othersGoOn(t *testing.T, f *fixture) {
	bad, good := f.key(1).Balance(day1, 1, 10), f.key(2).Balance(day1, 1, 20)
	f.commit(t, 0, bad)
	f.commit(t, 1, good)
	r := f.relay(t, "r", f.publisher(func(_ int, m broker.Message) Fate {
		if m.Partition == bad.Partition {
			return Reject
		}
		return Deliver
	}))
	for range 4 {
		_, _, err := r.Step(t.Context())
		if err != nil && !errors.Is(err, ErrPublish) {
			t.Fatalf("Step: %v", err)
		}
	}
	f.sent(t, 0, 1, 2)
	f.sent(t, 1, 2, 2)
}

func recreated(t *testing.T, f *fixture) {
	f.commit(t, 0, f.key(1).Balance(day1, 1, 10))
	f.log.Recreate()
	r := f.relay(t, "r", f.publisher(nil))
	for range 2 {
		if _, _, err := r.Step(t.Context()); !errors.Is(err, broker.ErrTopicChanged) || fault.ClassOf(err) != fault.Stop {
			t.Fatalf("Step: %v (%v), want %v", err, fault.ClassOf(err), broker.ErrTopicChanged)
		}
	}
	f.sent(t, 0, 1, 2)
}

// damaged loses the first sequence of partition 0: nothing of it is published, partition 1 is, and a relay started
// later finds the stop.
func damaged(t *testing.T, f *fixture) {
	mark.Expect(t, "R36 damaged outbox")
	f.commit(t, 0, f.key(1).Balance(day1, 1, 10), f.key(1).Balance(day1, 2, 20))
	good := f.key(2).Balance(day1, 1, 20)
	f.commit(t, 1, good)
	f.faulty.Outbox = &gapOutbox{Outbox: f.Outbox}
	drain(t, f.relay(t, "first", f.publisher(nil)))
	f.faulty.Outbox = f.Outbox
	f.elapse(t, leaseTTL+time.Second)
	drain(t, f.relay(t, "second", f.publisher(nil)))
	f.topic(t, 0)
	f.topic(t, 1, good)
	positions, err := f.Outbox.Positions(t.Context())
	want := []relay.Position{{Partition: 0, Sent: 1, End: 3, Stopped: relay.ReasonOutboxDamaged}, {Partition: 1, Sent: 2, End: 2}}
	if diff := cmp.Diff(want, positions); diff != "" || err != nil {
		t.Errorf("positions: %v (-want +got):\n%s", err, diff)
	}
}

func outboxLease(t *testing.T, f *fixture) {
	acquire := func(holder string) relay.Grant {
		t.Helper()
		grant, err := f.Outbox.Acquire(t.Context(), holder, leaseTTL)
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	if got, want := acquire("a"), (relay.Grant{Held: true, Term: 1}); got != want {
		t.Errorf("first: %+v, want %+v", got, want)
	}
	if got := acquire("b"); got.Held || got.Term != 1 || got.Remaining <= 0 || got.Remaining > leaseTTL {
		t.Errorf("while a's lease runs b got %+v", got)
	}
	f.Elapse(t, leaseTTL/2)
	if got, want := acquire("a"), (relay.Grant{Held: true, Term: 1}); got != want {
		t.Errorf("renewal: %+v, want %+v", got, want)
	}
	f.Elapse(t, leaseTTL/2+time.Second)
	if got := acquire("b"); got.Held {
		t.Error("b took a renewed lease over")
	}
	f.Elapse(t, leaseTTL/2)
	if got, want := acquire("b"), (relay.Grant{Held: true, Term: 2}); got != want {
		t.Errorf("takeover: %+v, want %+v", got, want)
	}
	if err := f.Outbox.Release(t.Context(), "a", 1); err != nil { // the old holder's release comes late
		t.Fatal(err)
	}
	if got := acquire("a"); got.Held {
		t.Error("a release of an old term freed the lease")
	}
	if err := f.Outbox.Release(t.Context(), "b", 2); err != nil {
		t.Fatal(err)
	}
	if got, want := acquire("a"), (relay.Grant{Held: true, Term: 3}); got != want {
		t.Errorf("after the release: %+v, want %+v", got, want)
	}
}

func outboxMark(t *testing.T, f *fixture) {
	f.commit(t, 0, f.key(1).Balance(day1, 1, 10), f.key(1).Balance(day1, 2, 20), f.key(1).Balance(day1, 3, 30))
	good := relay.Mark{Holder: "a", Term: 1, Partition: 0, From: 1, Receipts: []relay.Receipt{{Partition: 0, Offset: 1 << 40}}}
	attempt := func(change func(*relay.Mark)) error {
		m := good
		change(&m)
		return f.Outbox.Mark(t.Context(), m)
	}
	if err := attempt(func(*relay.Mark) {}); !errors.Is(err, relay.ErrLeaseLost) {
		t.Errorf("a mark without any lease: %v, want %v", err, relay.ErrLeaseLost)
	}
	if _, err := f.Outbox.Acquire(t.Context(), "a", leaseTTL); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*relay.Mark)
		want   error
	}{
		"old term":     {func(m *relay.Mark) { m.Term = 0 }, relay.ErrLeaseLost},
		"other holder": {func(m *relay.Mark) { m.Holder = "b" }, relay.ErrLeaseLost},
		"behind":       {func(m *relay.Mark) { m.From = 0 }, relay.ErrMoved},
		"ahead":        {func(m *relay.Mark) { m.From = 2 }, relay.ErrMoved},
	} {
		if err := attempt(tc.change); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	for name, stop := range map[string]relay.Stop{
		"stop of an old term": {Holder: "a", Term: 0, From: 1, Reason: "x"},
		"stop elsewhere":      {Holder: "a", Term: 1, From: 2, Reason: "x"},
	} {
		if err := f.Outbox.RecordStop(t.Context(), stop); !errors.Is(err, relay.ErrLeaseLost) && !errors.Is(err, relay.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.sent(t, 0, 1, 4)
	if err := attempt(func(*relay.Mark) {}); err != nil {
		t.Fatalf("the mark as it should be: %v", err)
	}
	if err := attempt(func(*relay.Mark) {}); !errors.Is(err, relay.ErrMoved) {
		t.Errorf("the same mark again: %v, want %v", err, relay.ErrMoved)
	}
	f.sent(t, 0, 2, 4)
	rest := relay.Mark{Holder: "a", Term: 1, Partition: 0, From: 2, Receipts: []relay.Receipt{{Offset: 1}, {Offset: 2}}}
	if err := f.Outbox.Mark(t.Context(), rest); err != nil {
		t.Fatal(err)
	}
	listed, err := f.Lister.List(t.Context(), 0, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range listed {
		got += fmt.Sprint(l.Seq, l.Sent, l.Receipt.Offset, " ")
	}
	if want := fmt.Sprint(1, true, 1<<40, " ", 2, true, 1, " ", 3, true, 2, " "); got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
}
