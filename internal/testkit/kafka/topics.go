package kafkatest

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topic creates a topic of a unique name with unlimited retention and returns the name.
func (c *Cluster) Topic(t testing.TB, partitions int32) string {
	t.Helper()
	name := UniqueName(t, "topic")
	c.CreateTopic(t, name, partitions, nil)
	return name
}

// CreateTopic creates a topic with unlimited retention, cleanup.policy=delete and configs on top of these, waits until
// it is visible, and returns its topic ID.
func (c *Cluster) CreateTopic(t testing.TB, name string, partitions int32, configs map[string]string) kadm.TopicID {
	t.Helper()
	all := map[string]*string{"retention.ms": ptr("-1"), "retention.bytes": ptr("-1"), "cleanup.policy": ptr("delete")}
	for key, value := range maps.All(configs) {
		all[key] = ptr(value)
	}
	admin := c.Admin(t)
	response, err := admin.CreateTopic(within(t), partitions, 1, all, name)
	if err = errors.Join(err, response.Err); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	var id kadm.TopicID
	Eventually(t, "topic "+name+" to be visible", func() bool {
		details, err := admin.ListTopics(within(t), name)
		if err != nil || details[name].Err != nil || len(details[name].Partitions) != int(partitions) {
			return false
		}
		for _, p := range details[name].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
		id = details[name].ID
		return true
	})
	return id
}

// DeleteTopic deletes a topic and waits until the broker no longer knows it.
func (c *Cluster) DeleteTopic(t testing.TB, name string) {
	t.Helper()
	admin := c.Admin(t)
	response, err := admin.DeleteTopic(within(t), name)
	if err = errors.Join(err, response.Err); err != nil {
		t.Fatalf("delete topic %s: %v", name, err)
	}
	Eventually(t, "topic "+name+" to be gone", func() bool {
		details, err := admin.ListTopics(within(t), name)
		return err == nil && errors.Is(details[name].Err, kerr.UnknownTopicOrPartition)
	})
}

// DeleteRecords moves the log start of one partition to before.
func (c *Cluster) DeleteRecords(t testing.TB, topic string, partition int32, before int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, partition, before, -1)
	responses, err := c.Admin(t).DeleteRecords(within(t), offsets)
	if err = errors.Join(err, responses.Error()); err != nil {
		t.Fatalf("delete records of %s/%d before %d: %v", topic, partition, before, err)
	}
}

// SetConfigs sets topic configs and leaves the others as they are.
func (c *Cluster) SetConfigs(t testing.TB, topic string, configs map[string]string) {
	t.Helper()
	var alter []kadm.AlterConfig
	for key, value := range maps.All(configs) {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: ptr(value)})
	}
	responses, err := c.Admin(t).AlterTopicConfigs(within(t), alter, topic)
	if err != nil {
		t.Fatalf("set configs of %s: %v", topic, err)
	}
	for _, r := range responses {
		if r.Err != nil {
			t.Fatalf("set configs of %s: %v", topic, r.Err)
		}
	}
}

// AddPartitions raises the partition count of a topic to total.
func (c *Cluster) AddPartitions(t testing.TB, topic string, total int) {
	t.Helper()
	responses, err := c.Admin(t).UpdatePartitions(within(t), total, topic)
	if err = errors.Join(err, responses.Error()); err != nil {
		t.Fatalf("set %s to %d partitions: %v", topic, total, err)
	}
}

// Eventually waits until is is true, at most the kit's bound, and fails the test naming what it waited for.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("waited %v for %s", wait, what)
}

func ptr(s string) *string { return &s }
