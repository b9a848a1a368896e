package status

import (
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/run"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// Facts are everything a status is made of.
type Facts struct {
	// Namespace is the applied name.
	Namespace string
	// Source and Output are the durable states of all partitions, by number.
	Source []postgres.SourceReport
	Lease  postgres.LeaseReport
	// Members are the members of the workers' consumer group at present, nil where the broker does not say.
	Members map[string]bool
	// Stalls are what processes say that run the stages.
	Stalls []postgres.Stall
	Output []postgres.OutputReport
	// Writer is the writer lease of the source topic, the zero row where nobody ever held it.
	Writer postgres.WriterLeaseRow
	// Requests are what accepted requests wait for.
	Requests postgres.RequestReport
	// Growth are the sizes of what is never collected.
	Growth []postgres.Growth
	// SourceTopic and OutputTopic are as recorded and as found.
	SourceTopic, OutputTopic Topic
	// Now is when all of it was read.
	Now time.Time
}

// Topic is a topic as the namespace recorded it and as the broker has it.
type Topic struct {
	// Name, ID and Partitions are recorded.
	Name, ID   string
	Partitions int32
	// Found is nil where the topic does not exist.
	Found *broker.TopicInfo
	// Waiting is, by partition, the broker's time of the first record not yet consumed, in milliseconds since the Unix
	// epoch; a partition without one is left out.
	Waiting map[int32]int64
}

// Document is the status of one namespace, as JSON prints it (design section 6).
type Document struct {
	Namespace string       `json:"namespace"`
	Stages    []run.Status `json:"stages"`
	Writer    Writer       `json:"writer"`
	// Growth are the sizes of outbox, evidence, requests and view, which v1 never collects.
	Growth []postgres.Growth `json:"growth"`
}

// Writer is who may write to the source topic (R22), an intake or a generation, and what an intake left to do.
type Writer struct {
	// Holder and Term are of the writer lease while it is held; empty and 0 while it is free.
	Holder string `json:"holder"`
	Term   int64  `json:"term"`
	// StopRequested says that a verification, or another writer, asked the holder to stop.
	StopRequested bool `json:"stopRequested"`
	// Requests are the accepted requests that wait. They are an intake's to publish and deliver.
	Requests postgres.RequestReport `json:"requests"`
}

// writer shows the writer lease while it is held, and what waits.
func (f Facts) writer() Writer {
	w := Writer{Requests: f.Requests}
	if f.Writer.Held {
		w.Holder, w.Term, w.StopRequested = f.Writer.Holder, f.Writer.Term, f.Writer.StopRequested
	}
	return w
}

// Build turns facts into a document: worker, relay, view, each by partition. It is pure.
func Build(f Facts) Document {
	d := Document{Namespace: f.Namespace, Stages: []run.Status{}, Writer: f.writer(), Growth: append([]postgres.Growth{}, f.Growth...)}
	for _, p := range f.Source {
		s := run.Status{Stage: worker.Stage, Partition: p.Partition, Frontier: p.NextOffset, Epoch: p.Epoch, Owner: f.owner(p.Member)}
		if s.Stall = stopped(p.WorkerStop); s.Stall == nil {
			s.Stall = held(p, f.Now)
		}
		d.Stages = append(d.Stages, f.SourceTopic.complete(s, f.Now))
	}
	for _, p := range f.Source {
		s := run.Status{Stage: relay.Stage, Partition: p.Partition, Frontier: p.SentThrough}
		if f.Lease.Live {
			s.Epoch, s.Owner = f.Lease.Term, f.Lease.Holder
		}
		if p.OldestPending != nil {
			s.RecordMillis = p.OldestPending.UnixMilli()
		}
		s = s.Against(p.OutboxNext, f.Now)
		switch {
		case p.RelayStop != nil:
			s.Stall = stopped(p.RelayStop)
		default:
			s.Stall = f.OutputTopic.changed() // nothing can be published
		}
		d.Stages = append(d.Stages, s)
	}
	for _, p := range f.Output {
		s := run.Status{Stage: view.Stage, Partition: p.Partition, Frontier: p.Next, Stall: stopped(p.Stop)}
		d.Stages = append(d.Stages, f.OutputTopic.complete(s, f.Now))
	}
	for i := range d.Stages {
		if d.Stages[i].Stall == nil {
			d.Stages[i].Stall = f.reported(d.Stages[i])
		}
	}
	for _, s := range f.Stalls { // what an intake is at is in no table but the stalls'
		if slices.Contains(pipeline.IntakeStages(), s.Stage) {
			d.Stages = append(d.Stages, run.Status{Stage: s.Stage, Partition: s.Partition, Owner: s.Process, Stall: stall(s)})
		}
	}
	return d
}

// owner is the recorded owner of a source partition while it is a member of the group; the record outlives it. Where the
// broker names no members, the record has to do, and so has it where a replay made it.
func (f Facts) owner(recorded string) string {
	_, held := replay.HeldBy(worker.PartitionState{Member: recorded, Generation: replay.HoldGeneration})
	if f.Members == nil || f.Members[recorded] || held {
		return recorded
	}
	return ""
}

// reported is why a process that runs the stage says that a partition stands still, nil where none does. Where the partition
// is further on than it was then, somebody else works on it.
func (f Facts) reported(at run.Status) *fault.Stall {
	for _, s := range f.Stalls {
		if s.Stage == at.Stage && s.Partition == at.Partition && s.Frontier >= at.Frontier {
			return stall(s)
		}
	}
	return nil
}

// stall shows what a process reports.
func stall(s postgres.Stall) *fault.Stall {
	return &fault.Stall{Reason: s.Reason, Since: s.Since.UTC(), Attempts: s.Attempts, NextTry: s.NextTry.UTC(), Process: s.Process}
}

// complete adds the end of the partition, and a topic that is no longer the recorded one, to what a reader of it shows.
func (t Topic) complete(s run.Status, now time.Time) run.Status {
	if changed := t.changed(); changed != nil {
		if s.Stall == nil {
			s.Stall = changed
		}
		return s
	}
	s.RecordMillis = t.Waiting[s.Partition]
	if int(s.Partition) >= len(t.Found.Ends) {
		return s
	}
	return s.Against(t.Found.Ends[s.Partition], now)
}

// changed says that the topic is gone, recreated or repartitioned (SC28), nil where it is the recorded one. Since when
// is not known.
func (t Topic) changed() *fault.Stall {
	reason := ""
	switch {
	case t.Found == nil:
		reason = fmt.Sprintf("topic %s does not exist", t.Name)
	case t.Found.ID != t.ID:
		reason = fmt.Sprintf("topic %s was recreated: its ID is %s, recorded was %s", t.Name, t.Found.ID, t.ID)
	case t.Found.Partitions != t.Partitions:
		reason = fmt.Sprintf("topic %s has %d partitions, recorded were %d", t.Name, t.Found.Partitions, t.Partitions)
	default:
		return nil
	}
	return &fault.Stall{Reason: reason}
}

// held says that a replay keeps the owner from its partition, nil where none does.
func held(p postgres.SourceReport, now time.Time) *fault.Stall {
	former, held := replay.HeldBy(worker.PartitionState{Member: p.Member, Generation: replay.HoldGeneration})
	if !held {
		return nil
	}
	reason := fmt.Sprintf("a replay holds the partition back from %q: it runs, or was killed; then replay again, or resume --stage worker --partition %d",
		former.Member, p.Partition)
	return &fault.Stall{Reason: reason, Since: p.UpdatedAt, NextTry: now}
}

// stopped shows a persisted stop, which never tries again by itself.
func stopped(stop *postgres.StopReport) *fault.Stall {
	if stop == nil {
		return nil
	}
	return &fault.Stall{
		Reason: fmt.Sprintf("%s at %d: %s", stop.Reason, stop.Offset, stop.Detail), Since: stop.At,
	}
}
