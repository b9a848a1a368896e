package clitest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/recordfile"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// servers are what one script has: an embedded broker and a database of its own, and the row locks it took.
type servers struct {
	t        testing.TB
	cluster  *kafkatest.Cluster
	database string
	locked   *pgx.Conn
}

// TestScripts runs the scenarios of testdata/script, each with its own servers, and amendsctl as processes.
//
// Beside testscript's own commands there are:
//
//	exits CODE amendsctl ARGS...       runs it and wants the exit code; stdout and stderr are checked as after exec
//	produce TOPIC FILE                 appends the records of a file, as kcat prints them, to the partitions it names
//	edit FILE PATTERN TEXT             replaces the first match of a pattern in a file
//	sql STATEMENT                      changes the database behind amends's back
//	lock TABLE, unlock                 keeps everybody from reading a table, and lets them again
//	blocked                            waits until somebody waits for that
//	topic recreate NAME PARTITIONS     deletes and creates it, as amends does
//	topic partitions NAME TOTAL        adds partitions
//	topic config NAME CONFIG VALUE     sets a config
//	topic trim NAME PARTITION BEFORE   deletes the records before an offset
func TestScripts(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "amendsctl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			tb, ok := env.T().(testing.TB)
			if !ok {
				return errors.New("testscript does not give its testing.TB")
			}
			s := &servers{t: tb, cluster: kafkatest.Fake(tb), database: pg.New(tb)}
			env.Values[key{}] = s
			env.Vars = append(env.Vars, ctlVariable+"=1", "AMENDS_DATABASE_URL="+s.database, "AMENDS_BROKERS="+strings.Join(s.cluster.Seeds, ","),
				"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "produce": produce, "edit": edit, "sql": statement, "topic": topic,
			"lock": lock, "unlock": unlock, "blocked": blocked,
		},
	})
}

// key is where a script's servers are kept.
type key struct{}

// of returns the servers of a script.
func of(ts *testscript.TestScript) *servers { return ts.Value(key{}).(*servers) }

// usage stops a script that calls a command wrongly.
func usage(ts *testscript.TestScript, neg bool, args []string, n int, form string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", form)
	}
}

// exits runs a command and checks its exact exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "exits CODE COMMAND ARGS...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// produce appends the records of a file.
func produce(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "produce TOPIC FILE")
	s := of(ts)
	var records []*kgo.Record
	for r, err := range recordfile.ReadFile(ts.MkAbs(args[1])) {
		ts.Check(err)
		records = append(records, &kgo.Record{Topic: args[0], Partition: r.Partition, Key: r.Key, Value: r.Value})
	}
	s.cluster.Produce(s.t, records...)
}

// edit replaces the first match of a pattern in a file.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "edit FILE PATTERN TEXT")
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	text := ts.ReadFile(args[0])
	at := pattern.FindStringIndex(text)
	if at == nil {
		ts.Fatalf("%s has no %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:at[0]]+args[2]+text[at[1]:]), 0o600))
}

// topic changes a topic behind amends's back.
func topic(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "topic recreate|partitions|config|trim NAME ARGS...")
	s, name := of(ts), args[1]
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	switch args[0] {
	case "recreate":
		s.cluster.DeleteTopic(s.t, name)
		s.cluster.CreateTopic(s.t, name, int32(number(2)), map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
	case "partitions":
		s.cluster.AddPartitions(s.t, name, number(2))
	case "config":
		usage(ts, neg, args, 4, "topic config NAME CONFIG VALUE")
		s.cluster.SetConfigs(s.t, name, map[string]string{args[2]: args[3]})
	case "trim":
		usage(ts, neg, args, 4, "topic trim NAME PARTITION BEFORE")
		s.cluster.DeleteRecords(s.t, name, int32(number(2)), int64(number(3)))
	default:
		ts.Fatalf("unknown change of a topic: %s", args[0])
	}
}

// statement changes the database.
func statement(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "sql STATEMENT")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, of(ts).database)
	ts.Check(err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(ctx, strings.Join(args, " "))
	ts.Check(err)
}

// lock keeps everybody from reading a table.
func lock(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "lock TABLE")
	s := of(ts)
	conn, err := pgx.Connect(context.Background(), s.database)
	ts.Check(err)
	s.locked = conn
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(context.Background(), `BEGIN; LOCK TABLE `+args[0]+` IN ACCESS EXCLUSIVE MODE`)
	ts.Check(err)
}

// unlock ends what lock began.
func unlock(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 0, "unlock")
	_, err := of(ts).locked.Exec(context.Background(), `COMMIT`)
	ts.Check(err)
}

// blocked waits until somebody waits for the lock.
func blocked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 0, "blocked")
	// Not the connection that holds the lock: within a transaction the statistics stand still.
	watch, err := pgx.Connect(context.Background(), of(ts).database)
	ts.Check(err)
	defer func() { _ = watch.Close(context.Background()) }()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var waiting bool
		err := watch.QueryRow(context.Background(),
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())`).Scan(&waiting)
		ts.Check(err)
		if waiting {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nobody waits for the lock")
		}
	}
}
