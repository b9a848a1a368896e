package relay_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
)

func TestMemoryOutbox(t *testing.T) { relaytest.Suite(t, relaytest.Memory) }

func TestR17Lease(t *testing.T) {
	const delivery, ttl = 10 * time.Second, 30 * time.Second
	now := time.Unix(0, 0)
	for _, tc := range []struct {
		name        string
		lease       relay.Lease
		allows, due bool
	}{
		{"none", relay.Lease{}, false, true},
		{"no term", relay.Lease{Until: now.Add(ttl)}, false, true},
		{"fresh", relay.Lease{Term: 1, Until: now.Add(ttl)}, true, false},
		{"half", relay.Lease{Term: 1, Until: now.Add(ttl / 2)}, true, false},
		{"less than half", relay.Lease{Term: 1, Until: now.Add(ttl/2 - 1)}, true, true},
		{"just enough", relay.Lease{Term: 1, Until: now.Add(delivery + 1)}, true, true},
		{"exactly one delivery", relay.Lease{Term: 1, Until: now.Add(delivery)}, false, true},
		{"expired", relay.Lease{Term: 1, Until: now.Add(-1)}, false, true},
	} {
		if got := tc.lease.Allows(now, delivery); got != tc.allows {
			t.Errorf("%s: Allows = %v", tc.name, got)
		}
		if got := tc.lease.Due(now, ttl, delivery); got != tc.due {
			t.Errorf("%s: Due = %v", tc.name, got)
		}
	}
}

func TestPickTakesTurns(t *testing.T) {
	positions := []relay.Position{{Partition: 0, Sent: 1, End: 5}, {Partition: 1, Sent: 3, End: 3}, {Partition: 2, Sent: 2, End: 4}}
	for last, want := range map[int32]int32{-1: 0, 0: 2, 1: 2, 2: 0} {
		if got, ok := relay.Pick(positions, last); !ok || got.Partition != want {
			t.Errorf("after %d: %d %v, want %d", last, got.Partition, ok, want)
		}
	}
	if got, ok := relay.Pick(positions[1:2], -1); ok {
		t.Errorf("picked %+v where nothing is pending", got)
	}
}

func TestB052Check(t *testing.T) {
	position := relay.Position{Partition: 3, Sent: 5, End: 8}
	run := func(sequences ...int64) (envelopes []relay.Envelope) {
		for _, s := range sequences {
			envelopes = append(envelopes, relay.Envelope{Seq: s})
		}
		return envelopes
	}
	for _, good := range [][]int64{{5}, {5, 6}, {5, 6, 7}} {
		if err := relay.Check(position, run(good...)); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range [][]int64{{}, {6}, {4, 5}, {5, 7}, {5, 5}, {5, 6, 7, 8}} {
		if err := relay.Check(position, run(bad...)); !invariant.Is(err) {
			t.Errorf("%v: %v, want a broken invariant", bad, err)
		}
	}
}

func TestB055Prefix(t *testing.T) {
	lost := errors.New("lost")
	messages := []broker.Message{{Partition: 0}, {Partition: 1}, {Partition: 0}}
	for _, tc := range []struct {
		name    string
		acks    []broker.Ack
		want    []relay.Receipt
		failure bool
	}{
		{"all", []broker.Ack{{Offset: 4}, {Offset: 9}, {Offset: 5}}, []relay.Receipt{{Partition: 0, Offset: 4}, {Partition: 1, Offset: 9}, {Partition: 0, Offset: 5}}, false},
		{"first lost", []broker.Ack{{Err: lost}, {Offset: 9}, {Offset: 5}}, []relay.Receipt{}, true},
		{"middle lost", []broker.Ack{{Offset: 4}, {Err: lost}, {Offset: 5}}, []relay.Receipt{{Partition: 0, Offset: 4}}, true},
	} {
		got, err := relay.Prefix(messages, tc.acks)
		if diff := cmp.Diff(tc.want, got); diff != "" || errors.Is(err, lost) != tc.failure {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
	}
	if _, err := relay.Prefix(messages, nil); !invariant.Is(err) {
		t.Errorf("no answers: %v, want a broken invariant", err)
	}
}

func TestR19Receipts(t *testing.T) {
	want := []relay.Receipt{{Partition: 0, Offset: 0}, {Partition: math.MaxInt32, Offset: math.MaxInt64}, {Partition: 200, Offset: 1 << 33}}
	packed := relay.AppendReceipts(nil, want)
	got, err := relay.ParseReceipts(packed, len(want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for cut := range packed {
		if _, err := relay.ParseReceipts(packed[:cut], len(want)); err == nil {
			t.Errorf("cut at %d: accepted", cut)
		}
	}
	for _, count := range []int{-1, 2, 4, math.MaxInt} {
		if _, err := relay.ParseReceipts(packed, count); err == nil {
			t.Errorf("as %d receipts: accepted", count)
		}
	}
	if _, err := relay.ParseReceipts([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}, 1); err == nil {
		t.Error("partition beyond int32: accepted")
	}
}

func TestNewRefuses(t *testing.T) {
	good := relay.Options{Holder: "r", Partitions: 1}
	if _, err := relay.New(good); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for name, damage := range map[string]func(*relay.Options){
		"short lease":   func(o *relay.Options) { o.DeliveryTimeout, o.LeaseTTL = time.Second, 2*time.Second-1 },
		"no holder":     func(o *relay.Options) { o.Holder = "" },
		"no partitions": func(o *relay.Options) { o.Partitions = 0 },
	} {
		options := good
		damage(&options)
		if _, err := relay.New(options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
