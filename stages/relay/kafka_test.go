package relay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// pipeline is relay and view over a broker's output topic.
type pipeline struct {
	store *relaytest.Store
	relay *relay.Relay
	views []*view.View
	state func(*testing.T) viewtest.State
	topic kafka.Topic
}

func newPipeline(t *testing.T, cluster *kafkatest.Cluster, namespace *manifests.Namespace) *pipeline {
	t.Helper()
	config := kafka.Config{Brokers: cluster.Seeds}
	p := &pipeline{store: relaytest.NewStore(1, time.Now)}
	name := cluster.Topic(t, namespace.Spec.Output.Partitions)
	admin, err := kafka.NewAdmin(config)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	info, err := admin.Describe(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	p.topic = kafka.Topic{Name: name, ID: info.ID, Partitions: info.Partitions}
	publisher, err := kafka.NewPublisher(t.Context(), config, p.topic, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(publisher.Close)
	p.relay, err = relay.New(relay.Options{
		Outbox: p.store, Publisher: publisher, Holder: "r", Partitions: info.Partitions, Now: time.Now, MaxEnvelopes: 64,
		DeliveryTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	memory := viewtest.Memory(t, namespace)
	p.state = memory.Inspect
	for partition := range info.Partitions {
		v := view.New(view.Options{
			Config: view.NewConfig(namespace), Partition: partition, Store: memory.Store,
			Opener: kafka.NewOpener(config, p.topic), Now: time.Now,
		})
		t.Cleanup(v.Close)
		p.views = append(p.views, v)
	}
	return p
}

// drain relays everything and lets each view read up to what its partition then holds.
func (p *pipeline) drain(t *testing.T, ends map[int32]int64) {
	t.Helper()
	for progress := true; progress; {
		var err error
		if progress, _, err = p.relay.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for partition, v := range p.views {
		kafkatest.Eventually(t, fmt.Sprintf("view of partition %d at its end", partition), func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if v.Status().Frontier >= ends[int32(partition)] {
				return true
			}
			if _, _, err := v.Step(ctx); err != nil {
				t.Fatal(err)
			}
			return false
		})
	}
}

// TestOverBroker: 500 messages of three keys go through the relay, a broker's topic and the views. Then the topic is
// recreated: relay and view find out and stop, and nothing is published to the new one (SC28).
func TestOverBroker(t *testing.T) {
	cluster := kafkatest.Fake(t)
	namespace := viewtest.Namespace()
	p := newPipeline(t, cluster, namespace)
	ends, want := map[int32]int64{}, map[view.ID]int64{}
	for version := range int64(500) {
		m := viewtest.KeyOf(namespace, int(version%3)).Balance("2026-01-01", version+1, version)
		p.store.Append(0, m)
		ends[m.Partition]++
		want[view.ID{Family: view.FamilyBalance, KeyID: int32(version % 3), Day: 20454}] = version + 1
	}
	p.drain(t, ends)
	got := map[view.ID]int64{}
	for id, row := range p.state(t).Rows {
		got[id] = row.Version
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	cluster.DeleteTopic(t, p.topic.Name)
	cluster.CreateTopic(t, p.topic.Name, p.topic.Partitions, nil)
	p.store.Append(0, viewtest.KeyOf(namespace, 1).Balance("2026-01-01", 501, 0))
	steps := map[string]func(context.Context) (bool, time.Time, error){"relay": p.relay.Step, "view": p.views[0].Step}
	for name, step := range steps {
		kafkatest.Eventually(t, name+" finds the recreated topic", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, _, err := step(ctx)
			return errors.Is(err, broker.ErrTopicChanged) && fault.ClassOf(err) == fault.Stop
		})
	}
	listed, err := p.store.List(t.Context(), 0, 501, 1)
	if err != nil || len(listed) != 1 || listed[0].Sent {
		t.Errorf("the last message: %+v, %v, want it pending", listed, err)
	}
}
