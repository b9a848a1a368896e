package status

import (
	"context"
	"fmt"
	"time"

	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// waitingBudget bounds the time spent on finding how old the records are that wait.
const waitingBudget = 5 * time.Second

// Read collects the facts of an applied namespace. It changes nothing. Its errors carry exit codes.
func Read(ctx context.Context, c connect.Connections, applied *postgres.Applied, now func() time.Time) (Facts, error) {
	ns := applied.Namespace
	f := Facts{
		Namespace:   ns.Name,
		SourceTopic: Topic{Name: ns.Spec.Source.Topic, ID: applied.SourceTopicID, Partitions: ns.Spec.Source.Partitions},
		OutputTopic: Topic{Name: ns.Spec.Output.Topic, ID: applied.OutputTopicID, Partitions: ns.Spec.Output.Partitions},
	}
	if err := f.readState(ctx, c.StateURL(), applied.StateSchema); err != nil {
		return Facts{}, connect.Refuse(err)
	}
	if err := f.readWriter(ctx, c.StateURL()); err != nil {
		return Facts{}, connect.Refuse(err)
	}
	if err := f.readView(ctx, c.ViewURL(), applied.ViewSchema); err != nil {
		return Facts{}, connect.Refuse(fmt.Errorf("view: %w", err))
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return Facts{}, err
	}
	defer admin.Close()
	if members, err := admin.GroupMembers(ctx, pipeline.GroupName(ns.Name)); err == nil { // else not known: no reason to fail
		f.Members = map[string]bool{}
		for _, member := range members {
			f.Members[member] = true
		}
	}
	frontiers := map[*Topic]map[int32]int64{&f.SourceTopic: {}, &f.OutputTopic: {}}
	for _, p := range f.Source {
		frontiers[&f.SourceTopic][p.Partition] = p.NextOffset
	}
	for _, p := range f.Output {
		frontiers[&f.OutputTopic][p.Partition] = p.Next
	}
	budget, cancel := context.WithTimeout(ctx, waitingBudget)
	defer cancel()
	for topic, from := range frontiers {
		if topic.Found, err = admin.Describe(ctx, topic.Name); err != nil {
			return Facts{}, fmt.Errorf("describe topic %s: %w", topic.Name, err)
		}
		topic.readWaiting(budget, c.Kafka, from)
	}
	f.Now = now()
	return f, nil
}

// readState reads what worker and relay durably say.
func (f *Facts) readState(ctx context.Context, url, schema string) error {
	pool, err := postgres.Connect(ctx, postgres.Options{URL: url, Schema: schema, Application: "amends status", MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err = postgres.CheckLayout(ctx, pool, postgres.KindNamespace, schema); err != nil {
		return err
	}
	if f.Source, f.Lease, err = postgres.ReadSourceReport(ctx, pool); err != nil {
		return err
	}
	if f.Stalls, err = postgres.ReadStalls(ctx, pool); err != nil {
		return err
	}
	if f.Requests, err = postgres.ReadRequestReport(ctx, pool); err != nil {
		return err
	}
	f.Growth, err = postgres.ReadStateGrowth(ctx, pool)
	return err
}

// readWriter reads who may write to the source topic.
func (f *Facts) readWriter(ctx context.Context, url string) error {
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: url, Schema: postgres.CatalogSchema, Application: "amends status", MaxConns: 1,
	})
	if err != nil {
		return err
	}
	defer pool.Close()
	rows, err := postgres.WriterLeases(ctx, pool, f.SourceTopic.ID)
	if err == nil && len(rows) > 0 {
		f.Writer = rows[0]
	}
	return err
}

// readView reads what the view durably says.
func (f *Facts) readView(ctx context.Context, url, schema string) error {
	pool, err := postgres.Connect(ctx, postgres.Options{URL: url, Schema: schema, Application: "amends status", MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err = postgres.CheckLayout(ctx, pool, postgres.KindView, schema); err != nil {
		return err
	}
	if f.Output, err = postgres.ReadOutputReport(ctx, pool); err != nil {
		return err
	}
	view, err := postgres.ReadViewGrowth(ctx, pool)
	f.Growth = append(f.Growth, view)
	return err
}

// readWaiting finds the broker's time of the first record at or after each frontier that is behind its end. What cannot
// be read within the budget stays unknown: a status is no reason to fail.
func (t *Topic) readWaiting(ctx context.Context, config kafka.Config, frontiers map[int32]int64) {
	t.Waiting = map[int32]int64{}
	if t.changed() != nil {
		return
	}
	opener := kafka.NewOpener(config, kafka.Topic{Name: t.Name, ID: t.ID, Partitions: t.Partitions})
	for partition, from := range frontiers {
		if int(partition) >= len(t.Found.Ends) || from >= t.Found.Ends[partition] {
			continue // a row of a partition that the topic has not is shown as it is
		}
		if first := firstRecord(ctx, opener, partition, from); first != nil {
			t.Waiting[partition] = first.TimestampMillis
		}
	}
}

// firstRecord returns the first record at or after from, nil where none comes before ctx ends.
func firstRecord(ctx context.Context, opener broker.Opener, partition int32, from int64) *broker.Record {
	reader, err := opener.Open(ctx, partition, from)
	if err != nil {
		return nil
	}
	defer reader.Close()
	fetch, err := reader.Poll(ctx, 1)
	if err != nil || len(fetch.Records) == 0 {
		return nil
	}
	return &fetch.Records[0]
}
