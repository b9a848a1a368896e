// Package pgserver runs a private Postgres server in a data folder: for the demo, and for tests. It looks for
// installed binaries, creates the cluster on first use, reuses it afterwards (with crash recovery), and never runs
// the server as root.
package pgserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrMissing is wrapped by the error of Find and Start where no Postgres is installed. Its text says how to get one.
var ErrMissing = errors.New("no Postgres server is installed: `apt-get install postgresql` (Debian, Ubuntu) or " +
	"`brew install postgresql@17` (macOS) brings one")

// superuser is the database role that owns everything in a private server.
const superuser = "amends"

// maxSocketPath is the longest socket path, in bytes, that every supported system accepts.
const maxSocketPath = 90

// Options say where and how a private server runs.
type Options struct {
	// Dir is the folder that holds the server: cluster, configuration, log, socket. It is created where missing and
	// belongs to the server's user afterwards. One server at a time; the caller holds the lock on the folder.
	Dir string
	// TCP makes the server listen on a free port of 127.0.0.1 as well, guarded by a generated password.
	TCP bool
	// Port fixes the TCP port; 0 takes a free one.
	Port int
	// NoSync trades durability over a crash of the machine (not of the server process) for speed. Tests only.
	NoSync bool
	// Settings are further lines of postgresql.conf, by name.
	Settings map[string]string
	// Ephemeral removes Dir when the server is stopped or this process dies.
	Ephemeral bool
	// Download fetches binaries through a maintained library where none are installed, into Dir/binaries.
	Download bool
}

// Server is a running private server. It is stopped by Stop, or by itself soon after this process dies.
type Server struct {
	opts   Options
	bin    Binaries
	user   serverUser
	port   int
	sock   string
	secret string
	guard  io.Closer
	opened []string
}

// Start initializes the cluster in opts.Dir where there is none, and starts the server. A server that a killed process
// left running in the folder is stopped first. Errors carry the last lines of the server's log.
func Start(ctx context.Context, opts Options) (*Server, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the database folder %s: %w", opts.Dir, err)
	}
	opts.Dir = dir
	user, err := dropTarget()
	if err != nil {
		return nil, err
	}
	opened, err := user.prepareDir(dir)
	if err != nil {
		return nil, err
	}
	bin, err := Find()
	if errors.Is(err, ErrMissing) && opts.Download {
		bin, err = download(user, filepath.Join(dir, "binaries"))
	}
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, bin: bin, user: user, opened: opened}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// StopLeft stops a server that a killed process left running in dir, so that the folder can be removed. Where none runs
// it does nothing.
func StopLeft(ctx context.Context, dir string) error {
	bin, missing := Find()
	if downloaded, ok := binariesIn(filepath.Join(dir, "binaries", "bin")); missing != nil && ok {
		bin, missing = downloaded, nil
	}
	if missing != nil { // without binaries nothing was started
		return nil //nolint:nilerr // nothing to stop is what the caller wants
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("find the database folder %s: %w", dir, err)
	}
	user, err := dropTarget()
	if err != nil {
		return err
	}
	s := &Server{opts: Options{Dir: dir}, bin: bin, user: user}
	if _, err := os.Stat(filepath.Join(s.cluster(), "postmaster.pid")); err != nil || !s.running(ctx) {
		return nil //nolint:nilerr // without its PID file no server runs
	}
	return s.stopServer(ctx)
}

func (s *Server) start(ctx context.Context) error {
	if err := s.initCluster(ctx); err != nil {
		return err
	}
	if s.running(ctx) {
		if err := s.stopServer(ctx); err != nil {
			return fmt.Errorf("stop the server left running in %s: %w", s.opts.Dir, err)
		}
	}
	if err := s.configure(); err != nil {
		return err
	}
	if err := s.startServer(ctx); err != nil {
		return err
	}
	var err error
	s.guard, err = s.startGuard()
	if err != nil {
		_ = s.stopServer(ctx)
		return fmt.Errorf("watch over Postgres in %s: %w", s.opts.Dir, err)
	}
	return nil
}

// startServer starts the server and waits until it answers. The sessions of one that was killed may outlive it by a
// moment, and hold its shared memory.
func (s *Server) startServer(ctx context.Context) error {
	const tries = 20
	for try := 1; ; try++ {
		before := s.logSize()
		err := s.run(ctx, s.bin.PGCtl, "start", "-w", "-t", "120", "-s", "-D", s.cluster(), "-l", s.logPath())
		if err == nil {
			return nil
		}
		says := s.logSays(before)
		if try == tries || !strings.Contains(says, "is still in use") {
			return fmt.Errorf("start Postgres in %s: %w%s", s.opts.Dir, err, says)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("start Postgres in %s: %w", s.opts.Dir, context.Cause(ctx))
		}
	}
}

// initCluster runs initdb into a side folder and renames it, so that an interrupted run leaves no half-made cluster. The
// side folder is a new one each time: the initdb of a process that was killed runs on.
func (s *Server) initCluster(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.cluster(), "PG_VERSION")); err == nil {
		return nil
	}
	s.removeInterrupted()
	fresh, err := os.MkdirTemp(s.opts.Dir, "cluster.new-")
	if err != nil {
		return fmt.Errorf("create a database cluster in %s: %w", s.opts.Dir, err)
	}
	if err := s.user.own(fresh); err != nil {
		return err
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails: crypto/rand aborts the process instead
	if err := s.user.writeFile(s.passwordPath(), []byte(hex.EncodeToString(secret)+"\n")); err != nil {
		return fmt.Errorf("keep the database password: %w", err)
	}
	args := []string{"-D", fresh, "-U", superuser, "-E", "UTF8", "--locale=C", "--no-instructions",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile=" + s.passwordPath()}
	if s.opts.NoSync {
		args = append(args, "--no-sync")
	}
	if err := s.run(ctx, s.bin.InitDB, args...); err != nil {
		return fmt.Errorf("create a database cluster in %s: %w", s.opts.Dir, err)
	}
	if err := os.Rename(fresh, s.cluster()); err != nil {
		return fmt.Errorf("put the new database cluster in place: %w", err)
	}
	return nil
}

// removeInterrupted clears what interrupted runs of initdb left, as far as that goes: one that still runs is in the way.
func (s *Server) removeInterrupted() {
	left, _ := filepath.Glob(filepath.Join(s.opts.Dir, "cluster.new*")) // the pattern is a valid one
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}

// configure writes amends.conf, included by postgresql.conf, anew for each start.
func (s *Server) configure() error {
	secret, err := os.ReadFile(s.passwordPath())
	if err != nil {
		return fmt.Errorf("read the database password: %w", err)
	}
	s.secret = strings.TrimSpace(string(secret))
	if s.sock, err = s.socketDir(); err != nil {
		return err
	}
	if s.port, err = choosePort(s.opts.Port); err != nil {
		return fmt.Errorf("start Postgres in %s: %w", s.opts.Dir, err)
	}
	if err := s.user.writeFile(filepath.Join(s.cluster(), "amends.conf"), []byte(s.settings())); err != nil {
		return fmt.Errorf("configure Postgres: %w", err)
	}
	return s.includeSettings()
}

// includeSettings makes postgresql.conf include amends.conf, once.
func (s *Server) includeSettings() error {
	const include = "include 'amends.conf'\n"
	path := filepath.Join(s.cluster(), "postgresql.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configure Postgres: %w", err)
	}
	if strings.Contains(string(text), include) {
		return nil
	}
	if err := s.user.writeFile(path, append(text, include...)); err != nil {
		return fmt.Errorf("configure Postgres: %w", err)
	}
	return nil
}

// Stop shuts the server down (fast: sessions are ended, everything committed is flushed) and waits for it.
func (s *Server) Stop(ctx context.Context) error {
	err := s.stopServer(ctx)
	if closeErr := s.guard.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("end the watch over Postgres: %w", closeErr)
	}
	if err == nil && s.sock != filepath.Join(s.opts.Dir, "socket") {
		err = os.RemoveAll(s.sock)
	}
	if err == nil && s.opts.Ephemeral {
		err = os.RemoveAll(s.opts.Dir)
	}
	return err
}

// stopServer stops the server; one that died meanwhile counts as stopped.
func (s *Server) stopServer(ctx context.Context) error {
	before := s.logSize()
	err := s.run(ctx, s.bin.PGCtl, "stop", "-w", "-t", "60", "-s", "-m", "fast", "-D", s.cluster())
	if err != nil && s.running(ctx) {
		return fmt.Errorf("stop Postgres in %s: %w%s", s.opts.Dir, err, s.logSays(before))
	}
	return nil
}

func (s *Server) running(ctx context.Context) bool {
	return s.run(ctx, s.bin.PGCtl, "status", "-D", s.cluster()) == nil
}

// URL is the connection URL of a database of this server through its socket. Whoever may enter the folder may connect.
func (s *Server) URL(database string) string {
	q := url.Values{"host": {s.sock}, "port": {strconv.Itoa(s.port)}}
	// Connection URLs follow libpq, where a plus sign is itself and not a space.
	query := strings.ReplaceAll(q.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query}
	return u.String()
}

// TCPURL is the connection URL of a database of this server through 127.0.0.1, password included. It is usable only
// with Options.TCP.
func (s *Server) TCPURL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, s.secret), Path: "/" + database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), RawQuery: "sslmode=disable"}
	return u.String()
}

// Opened are the folders above the server's own that other users could not pass, and now can (the execute bit, not the
// right to list): a process of root runs the server as another user. They are for a notice; nothing closes them again.
func (s *Server) Opened() []string { return s.opened }

// LogPath is the server's log file.
func (s *Server) LogPath() string { return s.logPath() }

func (s *Server) cluster() string      { return filepath.Join(s.opts.Dir, "cluster") }
func (s *Server) logPath() string      { return filepath.Join(s.opts.Dir, "postgres.log") }
func (s *Server) passwordPath() string { return filepath.Join(s.opts.Dir, "password") }

// run executes one of Postgres's own programs as the server's user and puts what it printed into the error.
func (s *Server) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.opts.Dir
	cmd.Env = s.environment()
	s.user.apply(cmd)
	// Of its output only stderr counts; initdb tells its progress on stdout. A file, not a pipe: the server that pg_ctl
	// starts would hold a pipe open and Run would wait for it.
	out, err := os.CreateTemp("", "amends-pg-out-")
	if err != nil {
		return fmt.Errorf("capture the output of %s: %w", filepath.Base(program), err)
	}
	defer func() { _ = out.Close(); _ = os.Remove(out.Name()) }()
	cmd.Stderr = out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.Join(strings.Fields(string(text)), " "))
	}
	return nil
}

// environment passes on what programs need to run, and nothing that changes what Postgres does.
func (s *Server) environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "HOME=" + s.opts.Dir}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Port is the port number of the server: of its TCP listener where it has one, and part of its socket's name.
func (s *Server) Port() int { return s.port }
