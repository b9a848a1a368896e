package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// childEnv makes this program a process that commits until it is killed: the URL, a space, and the name of its groups.
const childEnv = "AMENDS_OWNER_CHILD"

// groupSize is the number of owners in one transaction.
const groupSize = 20

// TestMain is also where a child begins. It finds connections and pools that a test, or the code under test, left open.
func TestMain(m *testing.M) {
	if url, name, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		if err := commitForEver(url, name, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// commitForEver commits group after group and says so after each.
func commitForEver(url, name string, acknowledged io.Writer) error {
	pool, err := postgres.Connect(context.Background(), postgres.Options{URL: url, Schema: schema})
	if err != nil {
		return err
	}
	defer pool.Close()
	store := ownerpg.New(pool)
	for i := 0; ; i++ {
		if _, err := store.Commit(context.Background(), group(fmt.Sprint(name, "/", i), groupSize)...); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(acknowledged, i); err != nil {
			return err
		}
	}
}

// consistent checks the groups of a process that was killed after it had acknowledged some: those are there, and every
// other one is completely or not at all, also one whose COMMIT is still under way.
func consistent(t *testing.T, store owner.Store, name string, acknowledged int) {
	t.Helper()
	for i := range acknowledged + 2 {
		outcome := again(t, store, group(fmt.Sprint(name, "/", i), groupSize))
		if i < acknowledged && outcome != owner.Duplicate {
			t.Fatalf("group %d was acknowledged and is not there", i)
		}
	}
}

// TestProcessKilled kills a process in the middle of its commits, ten times at moments that it does not choose.
func TestProcessKilled(t *testing.T) {
	url := newSchema(t)
	store := ownerpg.New(connect(t, url, nil))
	for round := range 10 {
		name := fmt.Sprint("round", round)
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), childEnv+"="+url+" "+name)
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if acknowledged++; acknowledged == 3 { // it goes on, and is killed wherever it is by then
				time.AfterFunc(time.Duration(round)*time.Millisecond, func() { _ = command.Process.Kill() })
			}
		}
		_ = command.Wait()
		if acknowledged < 3 {
			t.Fatalf("only %d groups", acknowledged)
		}
		consistent(t, store, name, acknowledged)
	}
	wantPending(t, store, "publish/", -1)
}

// wantPending wants pending effects to be exactly those without a receipt, in the whole database, and n of them with the
// prefix unless n is negative.
func wantPending(t *testing.T, store *ownerpg.Store, prefix string, n int) {
	t.Helper()
	pending, err := store.Pending(t.Context(), prefix, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		if !strings.HasPrefix(p.ID, prefix) {
			t.Errorf("%s is not of %s", p.ID, prefix)
		}
	}
	if n >= 0 && len(pending) != n {
		t.Errorf("%d pending effects, want %d", len(pending), n)
	}
}

// TestPostgresKilled kills the database server in the middle of commits; it recovers from its disk, where everything that
// was acknowledged is, and pending effects are exactly those without a receipt.
func TestPostgresKilled(t *testing.T) {
	options := pgserver.Options{Dir: t.TempDir()}
	server := pg.Server(t, options)
	url := server.URL("postgres")
	admin, err := postgres.Connect(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), admin, postgres.KindOwner, schema); err != nil {
		t.Fatal(err)
	}
	admin.Close()
	var acknowledged atomic.Int64
	ended := make(chan error)
	go func() {
		ended <- commitForEver(url, "k", writerFunc(func() { acknowledged.Add(1) }))
	}()
	for acknowledged.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	pg.Kill(t, options.Dir)
	if err := <-ended; err == nil {
		t.Fatal("commits without a server")
	}
	server = pg.Server(t, options)
	pool := connect(t, server.URL("postgres"), nil)
	store := ownerpg.New(pool)
	consistent(t, store, "k", int(acknowledged.Load()))
	var wrong int
	err = pool.QueryRow(t.Context(), `SELECT count(*) FROM owner_effect e
		WHERE EXISTS (SELECT FROM owner_pending p WHERE p.owner_no = e.owner_no AND p.effect_id = e.effect_id)
		    = EXISTS (SELECT FROM owner_receipt r WHERE r.owner_no = e.owner_no AND r.effect_id = e.effect_id)`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Errorf("%d effects are pending with a receipt, or neither: %v", wrong, err)
	}
}

// writerFunc calls a function for every write.
type writerFunc func()

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}
