package e2e_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/generate"
)

// long asks for the runs that take many minutes.
func long() bool { return os.Getenv("AMENDS_LONG") != "" }

// crew is every stage in a process of its own, the worker in two.
type crew struct {
	b      *bed
	stages []string
	crew   []*process
}

// hire starts the processes.
func (b *bed) hire() *crew {
	c := &crew{b: b, stages: []string{pipeline.Worker, pipeline.Worker, pipeline.Relay, pipeline.View}}
	for _, stage := range c.stages {
		c.crew = append(c.crew, b.spawn(plan{Stages: []string{stage}}))
	}
	return c
}

// kill ends one process, or all of them at once for the empty stage, and starts others in their place.
func (c *crew) kill(stage string) {
	var struck []int
	for i, s := range c.stages {
		if s == stage && len(struck) == 0 || stage == "" {
			struck = append(struck, i)
			c.crew[i].Strike() // those of one blow before any is waited for
		}
	}
	for _, i := range struck {
		c.crew[i].Kill()
		c.crew[i] = c.b.spawn(plan{Stages: c.stages[i : i+1]})
	}
}

// TestS8KilledAtRandomOver50000: 50,000 records on a real broker and a real database, every stage a process of its own,
// and in each stretch of the run one of them, or all, killed with SIGKILL wherever they happen to be. After each stretch
// the pipeline drains and verify says PASS; at the end every version of every output stands for one content, and state,
// outbox, output topic and view are what the core decides over the same records (SC18, SC20, SC21). There are 5 kills,
// and 50 where AMENDS_LONG is set, in another order each time.
func TestS8KilledAtRandomOver50000(t *testing.T) {
	t.Parallel()
	const records = 50_000
	random := rand.New(rand.NewPCG(8, 50))
	blows := []string{pipeline.Worker, pipeline.Relay, pipeline.View, pipeline.Worker, ""}
	if long() {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random = rand.New(rand.NewPCG(8, seed))
		blows = slices.Repeat(blows, 10)
	}
	random.Shuffle(len(blows), func(i, j int) { blows[i], blows[j] = blows[j], blows[i] })

	b := newBed(t, kafkatest.Real(t), shape{})
	b.maxBatch, b.deliveryTimeout = 500, 2*time.Second // and a lease of six
	history := options(records)
	history.Days = 8 // a correction restates every later day: a month makes fifteen messages of a record
	stream, err := generate.NewStream(b.ns, history)
	b.must(err)
	crew := b.hire()
	var base int64
	for i, stage := range blows {
		stretch := b.take(stream, records/len(blows))
		b.cluster.Produce(t, stretch...)
		target := base + 1 + random.Int64N(int64(len(stretch)))
		b.eventually("the frontiers to pass the moment of the kill", func() bool { return sum(b.frontiers()) >= target })
		time.Sleep(time.Duration(random.Int64N(int64(50 * time.Millisecond)))) // not only right behind a commit
		crew.kill(stage)
		r := b.verify(report.Pass)
		if base += int64(len(stretch)); r.Counts.Records != base {
			t.Fatalf("kill %d: verify counted %d records, want %d", i+1, r.Counts.Records, base)
		}
		t.Logf("kill %d of %q near record %d: PASS over %d records", i+1, stage, target, base)
	}
	repeats := b.versionsOnce()
	n := b.matchesCore()
	if n.records != records || n.rejected != 0 || n.repeats != repeats {
		t.Errorf("%s; the topic repeats %d", n, repeats)
	}
	t.Logf("%d kills: %s", len(blows), n)
}

// versionsOnce reads the whole output topic and requires that no version of any output has two contents and that none is
// left out (S7). It returns how many messages repeat another.
func (b *bed) versionsOnce() (repeats int) {
	b.t.Helper()
	contents, highest := map[output][]byte{}, map[string]int64{}
	for partition, records := range b.published() {
		for _, r := range records {
			id, _ := b.outputOf(r.Value)
			first, again := contents[id]
			switch {
			case !again:
				contents[id] = r.Value
				highest[id.id] = max(highest[id.id], id.version)
			case !bytes.Equal(first, r.Value):
				b.t.Fatalf("output partition %d, offset %d: version %d of %q was spent before\n%s\n%s", partition, r.Offset, id.version, id.id, r.Value, first)
			default:
				repeats++
			}
		}
	}
	var versions int64
	for _, version := range highest {
		versions += version
	}
	if versions != int64(len(contents)) {
		b.t.Errorf("the highest versions add up to %d, and there are %d", versions, len(contents))
	}
	return repeats
}
