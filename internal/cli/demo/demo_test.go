package demo_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/demo"
	"amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/testkit/child"
)

var update = flag.Bool("update", false, "write the golden files anew")

// patience bounds every wait of these tests.
const patience = 2 * time.Minute

// needsPostgres skips where the demo cannot bring up its private server.
func needsPostgres(t *testing.T) {
	t.Helper()
	if _, err := pgserver.Find(); err != nil {
		if strings.Contains(os.Getenv("AMENDS_TEST_REQUIRE"), "postgres") {
			t.Fatal(err)
		}
		t.Skipf("needs Postgres: %v", err)
	}
}

// call is one running invocation of demo or verify in this process.
type call struct {
	t              *testing.T
	stdout, stderr child.Log
	done           chan struct{}
	err            error
	interrupt      context.CancelFunc
}

// start runs amendsctl with a verb, without the root's mapping of errors. env are pairs of variable and value.
func start(t *testing.T, env map[string]string, args ...string) *call {
	t.Helper()
	c := &call{t: t, done: make(chan struct{})}
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &c.stdout, Stderr: &c.stderr, Now: time.Now,
		Getenv: func(name string) string { return env[name] }}
	root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("output", "o", "text", "")
	root.AddCommand(demo.New(a), verify.New(a))
	root.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	c.interrupt = cancel
	go func() {
		defer close(c.done)
		c.err = root.ExecuteContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-c.done })
	return c
}

// wait returns the exit code.
func (c *call) wait() exit.Code {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		c.t.Fatalf("does not end; stdout: %s\nstderr: %s", c.stdout.String(), c.stderr.String())
	}
	return exit.Of(c.err)
}

// passes waits for the end and expects exit code 0.
func (c *call) passes() {
	c.t.Helper()
	if code := c.wait(); code != exit.OK {
		c.t.Fatalf("exit code %d: %v; stdout: %s\nstderr: %s", code, c.err, c.stdout.String(), c.stderr.String())
	}
}

// says waits until stdout holds text.
func (c *call) says(text string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(c.stdout.String(), text); time.Sleep(20 * time.Millisecond) {
		select {
		case <-c.done:
			c.t.Fatalf("ended before it said %q: %v; stdout: %s\nstderr: %s", text, c.err, c.stdout.String(), c.stderr.String())
		default:
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("did not say %q in time; stderr: %s", text, c.stderr.String())
		}
	}
}

// environment reads what the demo left for shells.
func environment(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "env"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`).FindAllStringSubmatch(string(text), -1) {
		env[m[1]] = m[2]
	}
	if env["AMENDS_DATABASE_URL"] == "" || env["AMENDS_BROKERS"] == "" {
		t.Fatalf("env holds %s", text)
	}
	return env
}

// TestDemo: what the demo says is so, its summary has the golden shape, verify agrees from outside, finds one altered
// row, and a second demo goes on from the same folder.
func TestDemo(t *testing.T) {
	needsPostgres(t)
	folder := filepath.Join(t.TempDir(), "it's a demo")
	first := start(t, nil, "demo", "--data", folder, "--records", "2000", "--keep-running")
	first.says("In a clone")
	golden(t, "summary.golden", normal(first.stdout.String(), folder))
	env := environment(t, folder)
	history(t, env)

	twin := start(t, env, "verify", "--quiesce", "-n", "demo")
	twin.passes()
	alter(t, env["AMENDS_DATABASE_URL"], "+ 1")
	drift := start(t, env, "verify", "--quiesce", "-n", "demo")
	if code := drift.wait(); code != exit.Drift || !strings.HasPrefix(drift.stdout.String(), "DRIFT") {
		t.Errorf("one row altered: exit code %d, %v: %s", code, drift.err, drift.stdout.String())
	}
	alter(t, env["AMENDS_DATABASE_URL"], "- 1")
	first.interrupt()
	first.passes()

	second := start(t, nil, "demo", "--data", folder)
	second.passes()
	if !strings.Contains(second.stderr.String(), "keeps the 2000 records of an earlier demo") {
		t.Errorf("the second demo says: %s", second.stderr.String())
	}
	golden(t, "again.golden", normal(second.stdout.String(), folder))
}

// history reads the source topic and checks that it holds corrections of each kind.
func history(t *testing.T, env map[string]string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(env["AMENDS_BROKERS"]), kgo.ConsumeTopics("demo.transactions"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	counts, latest := map[string]int{}, map[string]time.Time{}
	for counts["records"] < 2000 && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			var tx struct {
				Kind      string
				ValidTime time.Time `json:"valid_time"`
			}
			if err := json.Unmarshal(r.Value, &tx); err != nil {
				t.Errorf("record %s: %v", r.Value, err)
			}
			counts["records"]++
			counts[tx.Kind]++
			if key := string(r.Key); tx.Kind == "NEW" && tx.ValidTime.Before(latest[key].Truncate(24*time.Hour)) {
				counts["backdated"]++
			} else if tx.ValidTime.After(latest[key]) {
				latest[key] = tx.ValidTime
			}
		})
	}
	for what, least := range map[string]int{"records": 2000, "AMEND": 1, "CANCEL": 1, "backdated": 1} {
		if counts[what] < least {
			t.Errorf("%s: %d in the source topic, want at least %d", what, counts[what], least)
		}
	}
}

// alter changes the close of one row of the view behind amends's back.
func alter(t *testing.T, url, by string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tag, err := conn.Exec(t.Context(), `UPDATE amends_demo_view.balance SET close = close `+by+
		` WHERE present AND (key_id, day) = (SELECT key_id, day FROM amends_demo_view.balance WHERE present ORDER BY 1, 2 LIMIT 1)`)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("alter one row: %v, %v", tag, err)
	}
}

// normal replaces what differs between machines and runs.
func normal(text, folder string) string {
	text = strings.ReplaceAll(text, strings.ReplaceAll(folder, "'", `'\''`), "DATA")
	text = strings.ReplaceAll(text, folder, "DATA")
	for _, r := range []struct{ pattern, with string }{
		{`(?m)^(PASS: .*?)\d+ balances, \d+ alerts`, "${1}N balances, N alerts"},
		{`(?m)^(  [HO] +)\[[\d ]+\]`, "${1}[N]"},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestDemoJSON: one object on stdout with every class of correction, and nothing on stderr.
func TestDemoJSON(t *testing.T) {
	needsPostgres(t)
	c := start(t, nil, "demo", "--data", passage(t), "--records", "200", "--seed", "7", "-o", "json")
	c.passes()
	var got struct {
		Status   string
		ExitCode *int
		Records  int64
		Counts   map[string]int64
		H, O     []int64
	}
	if err := json.Unmarshal([]byte(c.stdout.String()), &got); err != nil {
		t.Fatalf("%v: %s", err, c.stdout.String())
	}
	if got.Status != "PASS" || got.ExitCode == nil || *got.ExitCode != 0 || got.Records != 200 || len(got.H) != 4 || len(got.O) != 4 {
		t.Errorf("got %s", c.stdout.String())
	}
	for _, class := range []string{"new", "amend", "move", "cancel", "backdate"} {
		if got.Counts[class] < 1 {
			t.Errorf("%s: %d records", class, got.Counts[class])
		}
	}
	if s := c.stderr.String(); s != "" {
		t.Errorf("stderr: %s", s)
	}
}

// passage returns a folder for the demo below one that other users may not pass, as a home folder is: Postgres does not
// run as root, so that the demo of root has to make it passable, and no other demo has to.
func passage(t *testing.T) string {
	t.Helper()
	parent := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(parent, "demo")
}

// TestDemoBelowClosedFolder: success, and a line about the one thing that was changed outside of the folder.
func TestDemoBelowClosedFolder(t *testing.T) {
	needsPostgres(t)
	folder := passage(t)
	c := start(t, nil, "demo", "--data", folder, "--records", "10")
	c.passes()
	info, err := os.Stat(filepath.Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	opened := info.Mode().Perm() == 0o701
	if told := strings.Contains(c.stderr.String(), "made "+filepath.Dir(folder)+" passable"); told != opened || opened != (os.Geteuid() == 0) {
		t.Errorf("mode %v, told %v: %s", info.Mode(), told, c.stderr.String())
	}
}
