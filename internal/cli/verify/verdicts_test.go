package verify_test

import (
	"encoding/json"
	"encoding/xml"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/exit"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/vectorized/snapshot"
)

// verdicts runs the verb under the three formats that scripts read, and wants one status and one exit code of all.
type verdicts struct {
	*pipeline
	env map[string]string
}

func (v verdicts) want(status report.Status, code exit.Code, args ...string) {
	v.t.Helper()
	args = append([]string{"verify", "--quiesce", "-n", "shop"}, args...)
	for _, format := range []string{"text", "json", "junit"} {
		got, stdout, stderr := amendsctl(v.env, append(args[:len(args):len(args)], "-o", format)...)
		if got != code || stderr != "" {
			v.t.Errorf("%s: exit code %d, want %d for %s\n%s\n%s", format, got, code, status, stdout, stderr)
		}
		switch format {
		case "text":
			if !strings.HasPrefix(stdout, string(status)+" shop: ") {
				v.t.Errorf("want %s, got %s", status, stdout)
			}
		case "json":
			var r report.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Status != status || r.ExitCode != code {
				v.t.Errorf("%v: %s with exit code %d, want %s with %d", err, r.Status, r.ExitCode, status, code)
			}
		case "junit":
			var suites struct {
				XMLName xml.Name `xml:"testsuites"`
			}
			if err := xml.Unmarshal([]byte(stdout), &suites); err != nil || !strings.Contains(stdout, string(status)) {
				v.t.Errorf("want %s: %v\n%s", status, err, stdout)
			}
		}
	}
}

// TestB131EachVerdictThroughTheCommandLine forces each verdict once, on a real broker and Postgres: 0 is PASS, and the
// exact diagnostics; everything else is its own exit code under every format.
func TestB131EachVerdictThroughTheCommandLine(t *testing.T) {
	p := newPipeline(t, kafkatest.Real(t), 0)
	v := verdicts{p, map[string]string{"AMENDS_DATABASE_URL": p.url, "AMENDS_BROKERS": strings.Join(p.kafka.Brokers, ",")}}
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	p.produce(record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5), record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50))
	v.want(report.Pass, exit.OK)

	p.produce(&kgo.Record{Key: []byte("k"), Value: []byte(`{"txn_id":`)})
	v.want(report.Exclusions, exit.Exclusions)
	file := filepath.Join(t.TempDir(), "drill.yaml")
	if code, _, stderr := amendsctl(v.env, "verify", "--quiesce", "--write-diagnostics", file); code != exit.Exclusions || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	v.want(report.Exclusions, exit.OK, "--expect-diagnostics", file)
	stale := filepath.Join(t.TempDir(), "stale.yaml")
	if err := os.WriteFile(stale, []byte("apiVersion: amends.dev/v1\nkind: ExpectedDiagnostics\nmetadata: {name: stale}\nspec: {entries: []}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.want(report.Exclusions, exit.Exclusions, "--expect-diagnostics", stale)

	exec(t, p.viewDB, `UPDATE balance SET close = close + 1 WHERE key_id = 0`)
	v.want(report.Drift, exit.Drift, "--expect-diagnostics", file)
	exec(t, p.viewDB, `UPDATE balance SET close = close - 1 WHERE key_id = 0`)

	p.stopStages[relay.Stage]()
	p.produce(record("bolt", "oslo", "b2", 1, "NEW", "2026-01-03", 1))
	v.want(report.Incomplete, exit.Incomplete, "--timeout", "2s", "--expect-diagnostics", file)
	p.start(relay.Stage)

	p.produce(record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 6))
	v.want(report.Blocked, exit.Blocked, "--expect-diagnostics", file)

	exec(t, p.viewDB, `INSERT INTO protocol_violation (partition, output_offset, reason, detail) VALUES (0, 2, 'equal_version', 'by hand')`)
	v.want(report.Error, exit.Error, "--expect-diagnostics", file)
}

// TestR22FromExportedSnapshot: the command line exports a history and judges from it; more records make it another
// history, a damaged file is an error that names it, and a folder without a snapshot is a mistake of the call.
func TestR22FromExportedSnapshot(t *testing.T) {
	p := newPipeline(t, kafkatest.Fake(t), 0)
	env := map[string]string{"AMENDS_DATABASE_URL": p.url, "AMENDS_BROKERS": strings.Join(p.kafka.Brokers, ",")}
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	p.produce(record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5), record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50))
	dir := filepath.Join(t.TempDir(), "history")
	if code, _, stderr := amendsctl(env, "export", "--out", dir); code != exit.OK {
		t.Fatal(stderr)
	}
	verify := func(code exit.Code, want string, more ...string) {
		t.Helper()
		got, stdout, stderr := amendsctl(env, append([]string{"verify", "--quiesce", "--from", dir, "--scope", "key=bolt,oslo"}, more...)...)
		if got != code || !strings.Contains(stdout+stderr, want) {
			t.Errorf("exit code %d, want %d and %q\n%s%s", got, code, want, stdout, stderr)
		}
	}
	verify(exit.OK, "; scope bolt/oslo: no difference in 3 facts")
	verify(exit.OK, dir+`", typed columns`)
	flip := func(kind string) string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, kind+"-*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		whole, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		whole[len(whole)/2] ^= 1
		if err := os.WriteFile(files[0], whole, 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Base(files[0])
	}
	verify(exit.Error, flip("part"))
	verify(exit.OK, `snapshot "`+dir+`"`, "--from-raw") // which reads none of them
	flip("part")
	damaged := flip("raw")
	verify(exit.Error, damaged, "--from-raw")
	verify(exit.Error, damaged, "--engine", "reference") // it has a decoder of its own
	verify(exit.OK, ", typed columns")                   // nothing was rejected, so that nothing rests on raw records
	flip("raw")
	verify(exit.OK, "PASS shop: ")
	absent := filepath.Join(dir, "absent", "found.yaml") // the verdict is not lost with the file that it cannot write
	if code, _, stderr := amendsctl(env, "verify", "--quiesce", "--write-diagnostics", absent); code != exit.Error || !strings.Contains(stderr, "the verdict is PASS, and the diagnostics cannot be written: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	p.produce(record("bolt", "oslo", "b2", 1, "NEW", "2026-01-03", 1))
	verify(exit.Incomplete, "does not hold the history of the boundary: its ends: ")
	dir = t.TempDir()
	verify(exit.Usage, "no snapshot")
	none := func(int32) iter.Seq[*snapshot.Bulk] { return func(func(*snapshot.Bulk) bool) {} }
	meta := snapshot.Meta{
		Namespace: p.ns.Name, NamespaceDigest: p.ns.NamespaceDigest(), BusinessDigest: p.ns.BusinessDigest("other"), TopicID: "other",
		Starts: []int64{0, 0}, Ends: []int64{0, 0}, Isolation: snapshot.ReadCommitted,
	}
	dir = filepath.Join(dir, "typed")
	if err := snapshot.WriteBulk(t.Context(), dir, p.ns, meta, false, none); err != nil {
		t.Fatal(err)
	}
	verify(exit.Usage, "the snapshot has typed files only")
}
