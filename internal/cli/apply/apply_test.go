package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }

// world is a broker and a database of one test.
type world struct {
	cluster       *kafkatest.Cluster
	url, viewURL  string
	deps          Deps
	source, other string
	manifest      string
}

// newWorld has no namespace yet. Topic names are unique, because the real broker is shared.
func newWorld(t *testing.T, c *kafkatest.Cluster) *world {
	t.Helper()
	w := &world{cluster: c, url: pg.New(t), source: kafkatest.UniqueName(t, "in"), other: kafkatest.UniqueName(t, "out")}
	w.viewURL = w.url
	w.open(t)
	w.manifest = fmt.Sprintf(`apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: demo}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: %s, partitions: 4, partitioner: murmur2}
  output: {topic: %s, partitions: 2}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 9007199254740992, reorderThreshold: 60}
    - {item: bolt, location: berlin, openingBalance: 5, reorderThreshold: 1}
`, w.source, w.other)
	return w
}

func (w *world) open(t *testing.T) {
	t.Helper()
	deps, closeAll, err := Open(t.Context(), connect.To(w.url, w.viewURL, kafka.Config{Brokers: w.cluster.Seeds}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	w.deps = deps
}

// parse reads the manifest with replacements, old text and new text in turn.
func (w *world) parse(t *testing.T, replace ...string) *manifests.Namespace {
	t.Helper()
	text := w.manifest
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("manifest has no %q", replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	ns, problems := manifests.Parse("test.yaml", []byte(text), nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return ns
}

func (w *world) mustDo(t *testing.T, ns *manifests.Namespace) manifests.Plan {
	t.Helper()
	plan, err := Do(t.Context(), w.deps, ns)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// state is every row of every table of the databases, and every topic of this test as the broker describes it.
func (w *world) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, url := range []string{w.url, w.viewURL} {
		dump(t, &b, url)
	}
	topics, err := w.cluster.Admin(t).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range topics.Names() {
		if !strings.HasPrefix(name, w.source) && !strings.HasPrefix(name, w.other) {
			continue
		}
		info, err := w.deps.Topics.Describe(t.Context(), name)
		if err != nil || info == nil {
			t.Fatalf("describe %s: %v, %v", name, info, err)
		}
		fmt.Fprintf(&b, "topic %+v\n", *info)
	}
	return b.String()
}

func dump(t *testing.T, b *strings.Builder, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), `SELECT quote_ident(nspname), coalesce(quote_ident(relname), '') FROM pg_namespace n
		LEFT JOIN pg_class c ON c.relnamespace = n.oid AND relkind = 'r'
		WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public') ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (name [2]string, err error) {
		return name, row.Scan(&name[0], &name[1])
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		fmt.Fprintf(b, "%s.%s\n", name[0], name[1])
		if name[1] == "" {
			continue
		}
		rows, err := conn.Query(t.Context(), `SELECT t::text FROM `+name[0]+`.`+name[1]+` t ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
}

// invoke runs the verb's run with the plan printed, as New does after Prepare.
func invoke(t *testing.T, w *world, ns *manifests.Namespace, o options, stdin string, tty bool) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, StdinTTY: tty,
		Getenv: func(string) string { return "" }, Now: time.Now}
	err = run(t.Context(), a, w.deps, ns, o)
	return out.String(), errs.String(), err
}

func wantCode(t *testing.T, err error, want exit.Code) {
	t.Helper()
	if got := exit.Of(err); got != want {
		t.Fatalf("exit code %d (%v), want %d", got, err, want)
	}
}

func TestApplyTwiceIsUnchanged(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		w := newWorld(t, c)
		ns := w.parse(t)
		plan := w.mustDo(t, ns)
		if plan.ToCreate != 5 || plan.Unchanged != 0 || plan.Refused != 0 {
			t.Fatalf("first plan = %+v", plan)
		}
		before := w.state(t)
		for _, part := range []string{"amends_demo.stock_key", "amends_demo_view.view_progress", "amends.namespace", w.source, w.other} {
			if !strings.Contains(before, part) {
				t.Fatalf("nothing of %s in\n%s", part, before)
			}
		}
		plan = w.mustDo(t, ns)
		if plan.ToCreate != 0 || plan.Unchanged != 5 {
			t.Fatalf("second plan = %+v", plan)
		}
		out, _, err := invoke(t, w, ns, options{}, "", false)
		if err != nil || !strings.HasSuffix(out, "unchanged demo\n") {
			t.Fatalf("apply again without a terminal: %v\n%s", err, out)
		}
		if diff := cmp.Diff(before, w.state(t)); diff != "" {
			t.Fatalf("applying again changed (-want +got):\n%s", diff)
		}
	})
}

// TestChangedManifestIsRefusedUntouched: every immutable field, one at a time; every table and topic stays as it is.
func TestChangedManifestIsRefusedUntouched(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	w.mustDo(t, w.parse(t))
	before := w.state(t)
	for field, replace := range map[string][]string{
		"spec.ledgerOrigin":          {"2026-01-01", "2026-01-02"},
		"spec.source.topic":          {w.source, w.source + ".new"},
		"spec.source.partitions":     {"partitions: 4", "partitions: 5"},
		"spec.source.maxRecordBytes": {"partitioner: murmur2", "partitioner: murmur2, maxRecordBytes: 100"},
		"spec.output.topic":          {w.other, w.other + ".new"},
		"spec.output.partitions":     {"partitions: 2", "partitions: 3"},
		"R01 openingBalance":         {"9007199254740992", "9007199254740993"},
		"reorderThreshold":           {"reorderThreshold: 60", "reorderThreshold: 61"},
		"stock key":                  {"bolt", "nut"},
	} {
		ns := w.parse(t, replace...)
		out, _, err := invoke(t, w, ns, options{yes: true}, "", false)
		wantCode(t, err, exit.Refused)
		if !strings.Contains(out, "nothing is touched") {
			t.Errorf("%s: output\n%s", field, out)
		}
		if _, err := Do(t.Context(), w.deps, ns); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: Do = %v, want ErrRefused", field, err)
		}
		if diff := cmp.Diff(before, w.state(t)); diff != "" {
			t.Fatalf("%s: refusing changed (-want +got):\n%s", field, diff)
		}
	}
	w.mustDo(t, w.parse(t))
}
