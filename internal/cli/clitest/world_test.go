package clitest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// manifest is the namespace of these tests, with its name in three places.
const manifest = `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: %[1]s}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: %[1]s.transactions, partitions: 2}
  output: {topic: %[1]s.outputs, partitions: 2}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}
    - {item: gadget, location: paris, openingBalance: 50, reorderThreshold: 20}
    - {item: hose, location: "zürich", openingBalance: 300, reorderThreshold: 100}
`

// world is a namespace called shop with its servers.
type world struct {
	t    *testing.T
	dir  string
	env  []string
	fake *kafkatest.Cluster
	// database is the URL of the state's and the view's database.
	database string
}

// emptyWorld has servers and a manifest file, and nothing applied.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	fake := kafkatest.Fake(t)
	w := worldOn(t, pg.New(t), strings.Join(fake.Seeds, ","))
	w.fake = fake
	return w
}

// worldOn is an empty world on given servers.
func worldOn(t *testing.T, database, brokers string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), database: database}
	w.env = []string{"AMENDS_DATABASE_URL=" + database, "AMENDS_BROKERS=" + brokers}
	w.declare("shop")
	return w
}

// appliedWorld is a world whose namespace is applied and has passed: the undamaged twin of what follows.
func appliedWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	return w
}

// declare writes the manifest of a namespace.
func (w *world) declare(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name+".yaml"), fmt.Appendf(nil, manifest, name), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// on is the same world for a subtest.
func (w *world) on(t *testing.T) *world {
	other := *w
	other.t = t
	return &other
}

// with is the same world with further environment, of which the last counts.
func (w *world) with(env ...string) *world {
	other := *w
	other.env = append(append([]string{}, w.env...), env...)
	return &other
}

// start starts one amendsctl.
func (w *world) start(args ...string) *process {
	w.t.Helper()
	return start(w.t, w.dir, w.env, args...)
}

// ctl runs one amendsctl to its end.
func (w *world) ctl(args ...string) outcome {
	w.t.Helper()
	return w.start(args...).wait()
}

// must runs one amendsctl that has to succeed.
func (w *world) must(args ...string) outcome {
	w.t.Helper()
	o := w.ctl(args...)
	if o.code != 0 {
		w.t.Fatalf("amendsctl %s ended with %d: %s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
	return o
}

// fails runs one amendsctl twice, for text and for JSON, and wants both times the exit code and one error line that the
// pattern matches. Nothing that looks like a secret of these tests may show.
func (w *world) fails(code int, pattern string, args ...string) {
	w.t.Helper()
	for _, args := range [][]string{args, append(append([]string{}, args...), "-o", "json")} {
		o := w.ctl(args...)
		line, err := o.errorLine(args)
		if o.code != code || err != nil || !regexp.MustCompile(pattern).MatchString(line) {
			w.t.Errorf("amendsctl %s: exit code %d, want %d; %v; the line is to match %s: %s%s",
				strings.Join(args, " "), o.code, code, err, pattern, o.stdout, o.stderr)
		}
		if strings.Contains(o.stdout+o.stderr, secret) {
			w.t.Errorf("amendsctl %s shows a password: %s%s", strings.Join(args, " "), o.stdout, o.stderr)
		}
	}
}

// secret is every wrong password of these tests.
const secret = "hunter2"

// run starts all stages of the only namespace, or of the one named.
func (w *world) run(args ...string) *process {
	w.t.Helper()
	p := w.start(append([]string{"run"}, args...)...)
	p.says("msg=running", 0)
	return p
}

// proves generates records, runs the stages and expects PASS: the undamaged twin, or the proof that state was kept.
func (w *world) proves(name string, seed int) {
	w.t.Helper()
	w.must("generate", "-n", name, "--count", "60", "--seed", fmt.Sprint(seed))
	stages := w.run("-n", name)
	w.passes(name)
	stages.stop(syscall.SIGTERM, 0)
}

// passes expects PASS of a verification.
func (w *world) passes(name string) {
	w.t.Helper()
	o := w.must("verify", "--quiesce", "-n", name)
	if !strings.HasPrefix(o.stdout, "PASS") {
		w.t.Fatalf("verify: %s", o.stdout)
	}
}

// sql changes the database behind amends's back.
func (w *world) sql(statement string) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(w.t.Context(), statement); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// frontiers are the positions of worker, relay and view, to show that nothing moved.
func (w *world) frontiers() string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var text string
	err = conn.QueryRow(w.t.Context(), `SELECT
		(SELECT array_agg((next_offset, outbox_next) ORDER BY partition)::text FROM amends_shop.partition_state) ||
		(SELECT array_agg(sent_through ORDER BY partition)::text FROM amends_shop.relay_state) ||
		(SELECT array_agg(next_offset ORDER BY partition)::text FROM amends_shop_view.view_progress) ||
		(SELECT count(*)::text FROM amends_shop_view.balances)`).Scan(&text)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}
