package verify_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/exit"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/vectorized"
)

// TestAllWaysOfReadingFindTheSame judges one history, with rejections in both partitions, a superseded conflict and one that
// blocks, in every way there is to read it: from the topic, from the topic by way of the disk, from typed columns and from
// raw records, with both engines; and then with damaged evidence.
func TestAllWaysOfReadingFindTheSame(t *testing.T) {
	p := newPipeline(t, kafkatest.Fake(t), 0)
	env := map[string]string{"AMENDS_DATABASE_URL": p.url, "AMENDS_BROKERS": strings.Join(p.kafka.Brokers, ",")}
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	bad := func(key, value string) *kgo.Record { return &kgo.Record{Key: []byte(key), Value: []byte(value)} }
	p.produce(
		bad(`["bolt","oslo"]`, `{`), record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5), bad(`["bolt","oslo"]`, `null`),
		record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 6), record("bolt", "oslo", "b1", 2, "AMEND", "2026-01-02", 7),
		bad(`["widget","berlin"]`, `[]`), record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50), record("nut", "oslo", "n1", 1, "NEW", "2026-01-01", 1),
		record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -51), bad("", ""), record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50),
	)
	dir := filepath.Join(t.TempDir(), "history")
	if code, _, stderr := amendsctl(env, "export", "--out", dir); code != exit.OK {
		t.Fatal(stderr)
	}
	verify := func(code exit.Code, args ...string) *report.Report {
		t.Helper()
		got, stdout, stderr := amendsctl(env, append([]string{"verify", "--quiesce", "--no-keep", "-o", "json"}, args...)...)
		r := &report.Report{}
		if err := json.Unmarshal([]byte(stdout), r); err != nil || got != code {
			t.Fatalf("%v: exit code %d, want %d: %v\n%s%s", args, got, code, err, stdout, stderr)
		}
		r.Checks = r.Checks[1:] // it names the run and its term
		r.Began, r.Engine, r.JudgedFrom, r.Timings, r.NotKept, r.Code = "", "", "", report.Timings{}, "", ""
		return r
	}
	ways := [][]string{
		{"--memory", "1"}, {"--engine", "reference"}, {"--engine", "reference", "--memory", "1"}, {"--from", dir},
		{"--from", dir, "--memory", "1"}, {"--from", dir, "--from-raw"}, {"--from", dir, "--from-raw", "--memory", "1"},
		{"--from", dir, "--engine", "reference"},
	}
	same := func(code exit.Code) *report.Report {
		t.Helper()
		want := verify(code)
		for _, args := range ways {
			if diff := cmp.Diff(want, verify(code, args...)); diff != "" {
				t.Errorf("%v:\n%s", args, diff)
			}
		}
		return want
	}
	r := same(exit.Blocked)
	if c := r.Counts; c.Differences != 0 || c.Rejections != 4 || len(r.Rejections) != 4 || c.AmbiguousConflicts != 1 || c.SupersededConflicts != 1 || len(r.Conflicts[1].Payloads) != 2 {
		t.Fatalf("%+v\n%+v", r.Counts, r.Conflicts)
	}
	for damage, repair := range map[string]string{
		`UPDATE quarantine SET value = '}', value_sha256 = sha256('}') WHERE value = '{'`:                             `UPDATE quarantine SET value = '{', value_sha256 = sha256('{') WHERE value = '}'`,
		`CREATE TABLE kept AS SELECT * FROM quarantine WHERE value = '[]'; DELETE FROM quarantine WHERE value = '[]'`: `INSERT INTO quarantine TABLE kept; DROP TABLE kept`,
		`UPDATE evidence SET qty = qty + 100 WHERE qty = -51`:                                                         `UPDATE evidence SET qty = qty - 100 WHERE qty = 49`,
	} {
		exec(t, p.stateDB, damage)
		if r := same(exit.Blocked); r.Counts.Differences == 0 {
			t.Errorf("%s: no difference", damage)
		}
		exec(t, p.stateDB, repair)
	}
}

// TestLargeHistoryGoesByTheDisk: a history that does not fit into --memory is judged from a temporary folder, which is said,
// and is not there any more at the end.
func TestLargeHistoryGoesByTheDisk(t *testing.T) {
	p := newPipeline(t, kafkatest.Fake(t), 0)
	env := map[string]string{"AMENDS_DATABASE_URL": p.url, "AMENDS_BROKERS": strings.Join(p.kafka.Brokers, ",")}
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	p.produce(record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5), record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50))
	kept := regexp.MustCompile(`up to 2 records do not fit into --memory: they are kept in (\S+) until the end, usually in less than 1 MB\n`)
	for memory, wanted := range map[int]bool{2*vectorized.RowBytes - 1: true, 2 * vectorized.RowBytes: false} {
		code, stdout, stderr := amendsctl(env, "verify", "--quiesce", "--memory", strconv.Itoa(memory), "--progress", "plain")
		if code != exit.OK || !strings.HasPrefix(stdout, "PASS shop: ") {
			t.Errorf("--memory %d: exit code %d\n%s%s", memory, code, stdout, stderr)
		}
		found := kept.FindStringSubmatch(stderr)
		if (found != nil) != wanted {
			t.Errorf("--memory %d: %q", memory, stderr)
		}
		if found != nil {
			if _, err := os.Stat(found[1]); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", found[1], err)
			}
		}
	}
}
