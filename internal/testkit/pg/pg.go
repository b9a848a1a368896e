// Package pg gives tests fresh Postgres databases: one private server per test process, started at the first call and
// gone with the process, and one database per test, cloned from a template.
package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/pgserver"
)

// RequireEnv is the variable that names the parts, comma separated, whose absence fails a test instead of skipping it.
const RequireEnv = "AMENDS_TEST_REQUIRE"

var shared struct {
	once   sync.Once
	server *pgserver.Server
	err    error

	mu   sync.Mutex // serializes CREATE DATABASE, which locks its template
	next int
}

// New returns the URL of a new, empty database that no other test uses. It is dropped when the test ends. The server
// runs without fsync: use Server for tests that kill it. Where Postgres is not installed the test is skipped, or fails
// if RequireEnv contains postgres.
func New(t testing.TB) string {
	t.Helper()
	shared.once.Do(startShared)
	if shared.err != nil {
		missing(t, shared.err)
	}
	name := create(t)
	t.Cleanup(func() {
		if err := admin(fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, name)); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return shared.server.URL(name)
}

// Server starts a server of the test's own, in dir where it is not empty (so that it can be killed, and started again),
// with fsync on unless opts.NoSync is set. It is stopped when the test ends, if it still runs.
func Server(t testing.TB, opts pgserver.Options) *pgserver.Server {
	t.Helper()
	if opts.Dir == "" {
		dir, err := os.MkdirTemp("", "amends-pg-test-")
		if err != nil {
			t.Fatal(err)
		}
		opts.Dir, opts.Ephemeral = dir, true
	}
	server, err := pgserver.Start(context.Background(), opts)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}

func startShared() {
	dir, err := os.MkdirTemp("", "amends-pg-test-")
	if err != nil {
		shared.err = err
		return
	}
	shared.server, shared.err = pgserver.Start(context.Background(), pgserver.Options{
		Dir: dir, NoSync: true, Ephemeral: true, TCP: true,
		Settings: map[string]string{"max_connections": "200", "shared_buffers": "64MB"},
	})
}

func create(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.next++
	name := fmt.Sprintf("test_%d", shared.next)
	if err := admin(fmt.Sprintf(`CREATE DATABASE %s TEMPLATE template0`, name)); err != nil {
		t.Fatalf("create the test's database: %v", err)
	}
	return name
}

func admin(sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, shared.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// missing fails the test, or skips it where Postgres is simply not installed and not required.
func missing(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, pgserver.ErrMissing) && !strings.Contains(os.Getenv(RequireEnv), "postgres") {
		t.Skipf("needs Postgres: %v", err)
	}
	t.Fatalf("start Postgres for the test: %v", err)
}
