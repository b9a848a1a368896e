package status

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/replay"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// healthy is a namespace of one source and one output partition, with work waiting at every stage.
func healthy() Facts {
	pending := now.Add(-7 * time.Second)
	return Facts{
		Namespace: "demo",
		Source: []postgres.SourceReport{
			{Partition: 0, Epoch: 3, Member: "m1", UpdatedAt: now.Add(-time.Minute), NextOffset: 90, SentThrough: 11, OutboxNext: 15, OldestPending: &pending},
		},
		Lease:  postgres.LeaseReport{Holder: "host-1", Term: 2, Live: true},
		Output: []postgres.OutputReport{{Partition: 0, Next: 10}},
		Writer: postgres.WriterLeaseRow{SourceTopicID: "A", Holder: "host-2", Term: 5, Held: true}, Requests: postgres.RequestReport{ToPublish: 3, ToDeliver: 1},
		Growth: []postgres.Growth{{Part: "outbox", Rows: 14, Bytes: 8192}, {Part: "view", Rows: 1_000_000, Bytes: 1 << 30, Estimated: true}},
		SourceTopic: Topic{
			Name: "in", ID: "A", Partitions: 1, Found: &broker.TopicInfo{Name: "in", ID: "A", Partitions: 1, Ends: []int64{100}},
			Waiting: map[int32]int64{0: now.Add(-90 * time.Second).UnixMilli()},
		},
		OutputTopic: Topic{Name: "out", ID: "B", Partitions: 1, Found: &broker.TopicInfo{Name: "out", ID: "B", Partitions: 1, Ends: []int64{10}}},
		Now:         now,
	}
}

func rendered(t *testing.T, f Facts) (text, asJSON string) {
	t.Helper()
	var buffer bytes.Buffer
	if err := writeText(&buffer, Build(f)); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(Build(f))
	if err != nil {
		t.Fatal(err)
	}
	return buffer.String(), string(raw)
}

func TestBuild(t *testing.T) {
	text, asJSON := rendered(t, healthy())
	wantJSON := `{"namespace":"demo","stages":[` +
		`{"stage":"worker","partition":0,"frontier":90,"end":100,"lagRecords":10,"lagSeconds":90,"epoch":3,"owner":"m1","stall":null},` +
		`{"stage":"relay","partition":0,"frontier":11,"end":15,"lagRecords":4,"lagSeconds":7,"epoch":2,"owner":"host-1","stall":null},` +
		`{"stage":"view","partition":0,"frontier":10,"end":10,"lagRecords":0,"lagSeconds":0,"epoch":0,"owner":"","stall":null}],` +
		`"writer":{"holder":"host-2","term":5,"stopRequested":false,"requests":{"toPublish":3,"toDeliver":1}},` +
		`"growth":[{"part":"outbox","rows":14,"bytes":8192,"estimated":false},{"part":"view","rows":1000000,"bytes":1073741824,"estimated":true}]}`
	if diff := cmp.Diff(wantJSON, asJSON); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	wantText := strings.TrimPrefix(`
namespace demo
STAGE   PARTITION  FRONTIER  END  LAG  AGE    EPOCH  OWNER   STATE
worker  0          90        100  10   1m30s  3      m1      behind
relay   0          11        15   4    7s     2      host-1  behind
view    0          10        10   0    0s     -      -       drained
WRITER  TERM  STATE  TO PUBLISH  TO DELIVER
host-2  5     held   3           1
GROWTH  TABLE ROWS     BYTES
outbox  14             8192
view    about 1000000  1073741824
`, "\n")
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestR36StopsAreVisible: every persisted stop, and a topic that is another one, stands in the line of its partition.
func TestR36StopsAreVisible(t *testing.T) {
	stop := &postgres.StopReport{Reason: "some_reason", Offset: 42, Detail: "what happened", At: now.Add(-time.Hour)}
	const stopped = "stopped since 2026-11-30T11:00:00Z: some_reason at 42: what happened"
	for _, tc := range []struct {
		name   string
		damage func(*Facts)
		stages []string
		want   string
	}{
		{"worker", func(f *Facts) { f.Source[0].WorkerStop = stop }, []string{"worker"}, stopped},
		{"relay", func(f *Facts) { f.Source[0].RelayStop = stop }, []string{"relay"}, stopped},
		{"view", func(f *Facts) { f.Output[0].Stop = stop }, []string{"view"}, stopped},
		{"R25 held by a replay", func(f *Facts) { f.Source[0].Member = replay.Hold{Generation: 3, Member: "m1"}.String() }, []string{"worker"},
			`stalled since 2026-11-30T11:59:00Z: a replay holds the partition back from "m1"`},
		{"SC28 source topic gone", func(f *Facts) { f.SourceTopic.Found = nil }, []string{"worker"}, "stopped: topic in does not exist"},
		{"SC28 source topic recreated", func(f *Facts) { f.SourceTopic.Found.ID = "C" }, []string{"worker"}, "recreated: its ID is C, recorded was A"},
		{"SC28 output topic recreated", func(f *Facts) { f.OutputTopic.Found.ID = "C" }, []string{"relay", "view"}, "recreated: its ID is C, recorded was B"},
		{"SC28 output topic repartitioned", func(f *Facts) { f.OutputTopic.Found.Partitions = 2 }, []string{"relay", "view"}, "has 2 partitions, recorded were 1"},
	} {
		facts := healthy()
		tc.damage(&facts)
		text, _ := rendered(t, facts)
		var got []string
		for line := range strings.Lines(text) {
			if strings.Contains(line, tc.want) {
				got = append(got, strings.Fields(line)[0])
			}
		}
		if diff := cmp.Diff(tc.stages, got); diff != "" {
			t.Errorf("%s: stages that show it (-want +got):\n%s%s", tc.name, diff, text)
		}
	}
}

// TestR36ReportedStall: what a live process says of its stage is shown with its name, where nothing durable says more, and
// where nobody else has gone on.
func TestR36ReportedStall(t *testing.T) {
	stall := func(frontier int64) Facts {
		f := healthy()
		f.Stalls = []postgres.Stall{{
			Stage: "worker", Process: "host/1", Reason: "connection refused", Since: now.Add(-time.Minute), Attempts: 12,
			NextTry: now.Add(time.Second), Frontier: frontier,
		}}
		return f
	}
	const said = "stalled since 2026-11-30T11:59:00Z: connection refused, says process host/1\n"
	text, asJSON := rendered(t, stall(90))
	if strings.Count(text, said) != 1 || !strings.Contains(asJSON, `"stall":{"reason":"connection refused","since":"2026-11-30T11:59:00Z","attempts":12,"nextTry":"2026-11-30T12:00:01Z","process":"host/1"}`) {
		t.Errorf("%s%s", text, asJSON)
	}
	if text, _ = rendered(t, stall(89)); strings.Contains(text, "stalled") {
		t.Errorf("another owner went on:\n%s", text)
	}
	f := stall(90)
	f.Source[0].WorkerStop = &postgres.StopReport{Reason: "arithmetic_overflow", Offset: 90, At: now}
	if text, _ = rendered(t, f); strings.Contains(text, "connection refused") || !strings.Contains(text, "stopped since") {
		t.Errorf("a stop for good says more:\n%s", text)
	}
}

// TestNobodyPublishes: an expired lease names no owner.
func TestNobodyPublishes(t *testing.T) {
	facts := healthy()
	facts.Lease.Live = false
	if relay := Build(facts).Stages[1]; relay.Owner != "" || relay.Epoch != 0 {
		t.Errorf("the relay's owner is %q, epoch %d", relay.Owner, relay.Epoch)
	}
}

// TestFormerOwner: a member that left the group owns nothing any more, whatever is recorded; where the group is not known
// the record is shown.
func TestFormerOwner(t *testing.T) {
	f := healthy()
	f.Members = map[string]bool{"m1": true}
	if text, _ := rendered(t, f); !strings.Contains(text, "worker  0          90        100  10   1m30s  3      m1      behind\n") {
		t.Fatalf("a member:\n%s", text)
	}
	f.Members = map[string]bool{"m2": true}
	f.Lease.Live = false
	text, asJSON := rendered(t, f)
	if strings.Contains(text, "m1") || strings.Count(text, "behind, and nobody owns it\n") != 2 || !strings.Contains(asJSON, `"epoch":3,"owner":"","stall":null`) {
		t.Errorf("it left:\n%s%s", text, asJSON)
	}
	f.Source[0].Member = replay.Hold{Generation: 3, Member: "m1"}.String()
	if held := Build(f).Stages[0]; held.Owner != f.Source[0].Member || held.Stall == nil {
		t.Errorf("held by a replay: %+v", held)
	}
}

// TestWriter: the holder is shown while it holds the lease only; what waits is shown in any case.
func TestWriter(t *testing.T) {
	f := healthy()
	f.Writer.StopRequested = true
	if text, asJSON := rendered(t, f); !strings.Contains(text, "host-2  5     asked to stop  3           1\n") || !strings.Contains(asJSON, `"stopRequested":true`) {
		t.Errorf("%s%s", text, asJSON)
	}
	f.Writer.Held = false
	if text, asJSON := rendered(t, f); !strings.Contains(text, "-       -     free   3           1\n") || !strings.Contains(asJSON, `"writer":{"holder":"","term":0,"stopRequested":false,`) {
		t.Errorf("%s%s", text, asJSON)
	}
}
