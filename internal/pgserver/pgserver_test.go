//go:build unix

package pgserver_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/testkit/pg"
)

func query(t *testing.T, url, sql string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var out string
	err = conn.QueryRow(ctx, sql).Scan(&out)
	return out, err
}

// TestReuseAfterStopAndKill: data stay over a clean stop, over a killed postmaster, and over an orphaned server.
func TestReuseAfterStopAndKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a folder")
	opts := pgserver.Options{Dir: dir, TCP: true}
	s := pg.Server(t, opts)
	if _, err := query(t, s.URL("postgres"), "SELECT 'ok'"); err != nil {
		t.Fatal(err)
	}
	got, err := query(t, s.TCPURL("postgres"), "WITH c AS (SELECT 1) SELECT current_user::text || '@' || current_setting('TimeZone')")
	if err != nil || got != "amends@UTC" {
		t.Fatalf("over TCP: %q, %v", got, err)
	}
	if _, err := query(t, strings.Replace(s.TCPURL("postgres"), "@", "x@", 1), "SELECT 'ok'"); err == nil {
		t.Fatal("a wrong password was accepted")
	}
	exec1(t, s.URL("postgres"), "CREATE TABLE kept AS SELECT 'yes' AS v")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	pg.Server(t, opts)
	pg.Kill(t, dir)
	s = pg.Server(t, opts)
	if got, err := query(t, s.URL("postgres"), "SELECT v FROM kept"); err != nil || got != "yes" {
		t.Fatalf("after kill -9: %q, %v", got, err)
	}
	// Another start on the folder takes over from a server that was left running.
	s = pg.Server(t, opts)
	if got, err := query(t, s.URL("postgres"), "SELECT v FROM kept"); err != nil || got != "yes" {
		t.Fatalf("after take-over: %q, %v", got, err)
	}
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestMissingBinariesSayHowToGetThem: one line, typed.
func TestMissingBinariesSayHowToGetThem(t *testing.T) {
	pgserver.SetSearch(t, nil)
	t.Setenv("PATH", t.TempDir())
	_, err := pgserver.Start(t.Context(), pgserver.Options{Dir: t.TempDir()})
	if !errors.Is(err, pgserver.ErrMissing) || !strings.Contains(err.Error(), "apt-get install postgresql") ||
		strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v", err)
	}
}

// TestPortInUse: one line names port and folder.
func TestPortInUse(t *testing.T) {
	first := pg.Server(t, pgserver.Options{TCP: true, NoSync: true})
	port := first.Port()
	dir := t.TempDir()
	_, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir, TCP: true, Port: port, NoSync: true})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v", err)
	}
}

// TestFailedStartIsOneLine: what the server's log says of this start is in the error, and nothing of earlier ones.
func TestFailedStartIsOneLine(t *testing.T) {
	opts := pgserver.Options{Dir: filepath.Join(t.TempDir(), "data"), NoSync: true}
	s := pg.Server(t, opts)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"no_such_setting", "no_other_setting"} {
		opts.Settings = map[string]string{setting: "1"}
		_, err := pgserver.Start(t.Context(), opts)
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "FATAL")+strings.Count(err.Error(), "contains errors") != 1 ||
			!strings.Contains(err.Error(), s.LogPath()) {
			t.Errorf("got %v", err)
		}
	}
	opts.Settings = nil
	pg.Server(t, opts) // the cluster is intact
}

// TestInterruptedInit: what a killed process left of an initdb, which may still run, is in nobody's way.
func TestInterruptedInit(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "cluster.new-1")
	if err := os.MkdirAll(filepath.Join(left, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	pg.Server(t, pgserver.Options{Dir: dir, NoSync: true})
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// TestServerNeedsNoPath: the guard that stops an orphan must not depend on programs on PATH.
func TestServerNeedsNoPath(t *testing.T) {
	bin, err := pgserver.Find()
	if err != nil {
		t.Skipf("needs Postgres: %v", err)
	}
	t.Setenv("PATH", filepath.Dir(bin.Postgres))
	s := pg.Server(t, pgserver.Options{NoSync: true})
	time.Sleep(300 * time.Millisecond) // a guard that failed would have stopped the server by now
	if _, err := query(t, s.URL("postgres"), "SELECT 'ok'"); err != nil {
		t.Fatal(err)
	}
}

// TestServerEndsWithItsProcess: a killed owner leaves no server and no ephemeral folder behind.
func TestServerEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv("AMENDS_TEST_PGSERVER_CHILD"); dir != "" {
		if _, err := pgserver.Start(context.Background(), pgserver.Options{Dir: dir, NoSync: true, Ephemeral: true}); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pgserver.Find(); err != nil {
		t.Skipf("needs Postgres: %v", err)
	}
	dir, err := os.MkdirTemp("", "amends-pg-test-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), "AMENDS_TEST_PGSERVER_CHILD="+dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
	for range 300 {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s is still there", dir)
}
