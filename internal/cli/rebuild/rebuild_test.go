package rebuild_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/root"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/mark"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
)

// world is an applied namespace called shop with a short history.
type world struct {
	t       *testing.T
	cluster *kafkatest.Cluster
	url     string
	dir     string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, cluster: kafkatest.Fake(t), url: pg.New(t), dir: t.TempDir()}
	w.must("apply", "--yes", w.manifest("shop", 60))
	w.must("generate", "--count", "100")
	return w
}

// manifest writes the manifest of a namespace over shop's source topic, with a threshold.
func (w *world) manifest(name string, threshold int) string {
	w.t.Helper()
	path := filepath.Join(w.dir, fmt.Sprintf("%s-%d.yaml", name, threshold))
	text := fmt.Sprintf(`apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: %[1]s}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: in, partitions: 2}
  output: {topic: %[1]s.out, partitions: 1}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 100, reorderThreshold: %[2]d}
    - {item: gadget, location: paris, openingBalance: 50, reorderThreshold: 20}
`, name, threshold)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// ctl runs the program.
func (w *world) ctl(args ...string) (exit.Code, string, string) {
	w.t.Helper()
	env := map[string]string{"AMENDS_DATABASE_URL": w.url, "AMENDS_BROKERS": strings.Join(w.cluster.Seeds, ",")}
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }, Now: time.Now}
	code := root.Main(a, args)
	return code, out.String(), errs.String()
}

func (w *world) must(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.ctl(args...)
	if code != exit.OK {
		w.t.Fatalf("%v ended with %d: %s", args, code, stderr)
	}
	return stdout
}

func (w *world) refused(pattern string, args ...string) {
	w.t.Helper()
	code, _, stderr := w.ctl(args...)
	if code != exit.Refused || !regexp.MustCompile(pattern).MatchString(stderr) {
		w.t.Fatalf("%v ended with %d: %s; want 5 and %s", args, code, stderr, pattern)
	}
}

// sql runs statements without parameters.
func (w *world) sql(text string) {
	w.t.Helper()
	pool, err := postgres.Connect(w.t.Context(), postgres.Options{URL: w.url, Schema: postgres.CatalogSchema})
	if err != nil {
		w.t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(w.t.Context(), text); err != nil {
		w.t.Fatal(err)
	}
}

// TestR02Configurations: a manifest of the same business configuration is rebuilt, another one only as an experiment.
func TestR02Configurations(t *testing.T) {
	mark.Expect(t, "R02 rebuild under another configuration refused")
	w := newWorld(t)
	w.must("rebuild", "-n", "shop", "--into", "same", "-f", w.manifest("same", 60), "--mode", "bulk")
	other := []string{"rebuild", "-n", "shop", "--into", "other", "-f", w.manifest("other", 61), "--mode", "bulk"}
	w.refused(`business digest .*; give --experiment`, other...)
	if out := w.must(append(other, "--experiment")...); !strings.Contains(out, "an experiment under another configuration") {
		t.Errorf("not labelled: %s", out)
	}
	if code, _, _ := w.ctl("rebuild", "-n", "shop", "--into", "third", "-f", w.manifest("other", 61), "--experiment"); code != exit.Usage {
		t.Errorf("--into another name than the manifest's: exit code %d", code)
	}
}

// TestS11Targets: a live namespace is no target; an unfinished one is, for the same rebuild alone, and only while the old
// namespace knows of it.
func TestS11Targets(t *testing.T) {
	mark.Expect(t, "S11 live target refused")
	mark.Expect(t, "S11 another rebuild is open")
	mark.Expect(t, "S11 loaded partition not derived again")
	w := newWorld(t)
	dataset := filepath.Join(w.dir, "dataset")
	args := []string{"rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk", "--dataset", dataset}
	w.must(args...)
	w.refused(`namespace fresh is applied already`, args...)
	w.sql(`UPDATE namespace SET unfinished = 'amendsctl rebuild' WHERE name = 'fresh'`) // as one that was killed leaves it
	w.refused(`unfinished, but shop has no record`, args...)
	w.must("apply", "--yes", w.manifest("other", 60))
	w.refused(`namespace other is applied already`, "rebuild", "-n", "shop", "--into", "other")
	// A rebuild that ends in an error before its end, and is asked for again otherwise, and then as before.
	w.sql(`CREATE FUNCTION amends.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON amends.namespace FOR EACH ROW EXECUTE FUNCTION amends.refuse()`)
	late := []string{"rebuild", "-n", "shop", "--into", "late", "--mode", "bulk"}
	if code, _, stderr := w.ctl(late...); code != exit.Error || !strings.Contains(stderr, "not now") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	w.sql(`DROP TRIGGER refuse ON amends.namespace`)
	w.refused(`is unfinished: amendsctl rebuild -n shop --into late --mode bulk through`, "verify", "--quiesce", "-n", "late")
	w.refused(`another rebuild into late was begun and not finished, with other options`, "rebuild", "-n", "shop", "--into", "late")
	// All that was loaded before is not derived again, and counted.
	if out := w.must(late...); !strings.Contains(out, "an interrupted rebuild finished") || !strings.Contains(out, "100 accepted, 0 rejected; 0 rows") {
		t.Errorf("not resumed: %s", out)
	}
}

// TestB006LostHistory: the plan refuses what has lost its beginning.
func TestB006LostHistory(t *testing.T) {
	mark.Expect(t, "B006 rebuild refused by the plan")
	w := newWorld(t)
	w.must("rebuild", "-n", "shop", "--into", "twin", "--mode", "bulk")
	w.cluster.DeleteRecords(t, "in", 0, 1)
	w.refused(`has lost the beginning of its history`, "rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk")
}

// TestFromSnapshot: a snapshot of this history is as good as the topic, its end is H; one of another topic is refused, and so
// is a dataset of another history.
func TestFromSnapshot(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	snapshot, foreign, dataset := filepath.Join(w.dir, "snapshot"), filepath.Join(w.dir, "foreign"), filepath.Join(w.dir, "dataset")
	w.must("export", "-n", "shop", "--out", snapshot)
	other.must("export", "-n", "shop", "--out", foreign)
	w.must("rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk", "--from", snapshot, "--dataset", dataset)
	w.refused(`not the beginning of topic ID`, "rebuild", "-n", "shop", "--into", "second", "--mode", "bulk", "--from", foreign)
	w.must("generate", "-n", "shop", "--count", "10", "--seed", "9")
	w.refused(`there is something in the folder already`, "rebuild", "-n", "shop", "--into", "third", "--mode", "bulk", "--dataset", dataset)
	out := w.must("rebuild", "-n", "shop", "--into", "fourth", "--mode", "bulk", "--from", snapshot, "--dataset", dataset, "-o", "json")
	if strings.Contains(out, `"derive"`) {
		t.Errorf("a dataset that is there was derived again: %s", out)
	}
}

// overflow adds a record whose close does not fit.
func (w *world) overflow() {
	w.t.Helper()
	key := []byte(`["widget","berlin"]`)
	w.cluster.Produce(w.t, &kgo.Record{Topic: "in", Partition: ledger.PartitionOf(key, 2), Key: key, Value: []byte(
		`{"txn_id":"o","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},"valid_time":"2026-01-02T00:00:00Z","qty":9223372036854775807,"source_time":"2026-01-02T00:00:00Z"}`)})
}

// TestR09DomainFoundFirst: a close out of domain ends a bulk rebuild before anything is created, with and without a dataset
// that is kept: no worker has proved that all closes fit. The same history without that record is rebuilt.
func TestR09DomainFoundFirst(t *testing.T) {
	mark.Expect(t, "S11 derived before anything is created")
	w := newWorld(t)
	args := []string{"rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk"}
	if out := w.must("rebuild", "-n", "shop", "--into", "twin", "--mode", "bulk"); strings.Contains(out, "whole") {
		t.Errorf("derived and loaded at the same time: %s", out)
	}
	w.overflow()
	for _, more := range [][]string{nil, {"--dataset", filepath.Join(w.dir, "kept")}} {
		code, _, stderr := w.ctl(append(args, more...)...)
		if code != exit.Error || !strings.Contains(stderr, "a close is out of domain: widget/berlin on ") || strings.Contains(stderr, "unfinished") {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		if code, _, stderr := w.ctl("verify", "--quiesce", "-n", "fresh"); code != exit.Error || !strings.Contains(stderr, "not applied") {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
}

// TestR09DomainLeft: where the old namespace claims to have passed a close out of domain, its rebuild finds it when the new
// namespace is there: that is unfinished, everything refuses it, and the error says how it is deleted. The twin derives and
// loads at the same time.
func TestR09DomainLeft(t *testing.T) {
	w := newWorld(t)
	w.sql(`UPDATE amends_shop.partition_state SET next_offset = 1000`)
	if out := w.must("rebuild", "-n", "shop", "--into", "twin", "--mode", "bulk"); !strings.Contains(out, "whole") {
		t.Errorf("not derived and loaded at the same time: %s", out)
	}
	w.overflow()
	code, _, stderr := w.ctl("rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk")
	if code != exit.Error || !strings.Contains(stderr, "namespace fresh is unfinished; remove it with amendsctl delete namespace fresh --with-topics") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	w.refused(`is unfinished`, "verify", "--quiesce", "-n", "fresh")
	w.must("delete", "namespace", "fresh", "--confirm", "fresh", "--with-topics")
	// Under another configuration the old worker has proved nothing.
	code, _, stderr = w.ctl("rebuild", "-n", "shop", "--into", "other", "-f", w.manifest("other", 61), "--mode", "bulk", "--experiment")
	if code != exit.Error || !strings.Contains(stderr, "a close is out of domain") || strings.Contains(stderr, "unfinished") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
}
