// Package intakeload runs the intake as its own process on a real Postgres and a real broker, under load and faults.
package intakeload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// planEnv holds the plan of a child process as JSON.
const planEnv = "AMENDS_INTAKELOAD_CHILD"

// TestMain is also the entry of the child processes that tests start.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(planEnv); ok {
		if err := childMain(text); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(kafkatest.Main(m))
}

// plan is what a child process does: serve an intake until its standard input ends.
type plan struct {
	StateURL          string
	Brokers           []string
	Namespace, Holder string
	Listen            string
}

// deliveryTimeout of the intakes; the writer lease takes four of them, which is what the successor of a killed one waits.
const deliveryTimeout = 2 * time.Second

func childMain(text string) error {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the parent closes it, or is gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, err := open(ctx, p, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	machine.Generous(os.Getenv)
	return s.Run(ctx)
}

// open connects an intake as `run intake` does.
func open(ctx context.Context, p plan, log *slog.Logger) (*pipeline.IntakeServer, error) {
	pool, err := postgres.Connect(ctx, postgres.Options{URL: p.StateURL, Schema: postgres.CatalogSchema, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	applied, err := postgres.NewCatalog(pool).Load(ctx, p.Namespace)
	if err != nil {
		return nil, err
	}
	return pipeline.NewIntake(ctx, pipeline.IntakeOptions{
		Applied: applied, StateURL: p.StateURL, Kafka: kafka.Config{Brokers: p.Brokers}, Holder: p.Holder, Listen: p.Listen,
		Offered: durability.Published, DeliveryTimeout: deliveryTimeout, Log: log,
	})
}

// child is a running child process.
type child struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.Closer
	log     *logBuffer
	ended   chan struct{}
	err     error
}

// spawn starts a child. It is killed when the test ends.
func spawn(t *testing.T, p plan) *child {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, log: &logBuffer{}, ended: make(chan struct{})}
	c.command = exec.Command(os.Args[0])
	c.command.Env = append(os.Environ(), planEnv+"="+string(text))
	c.command.Stdout, c.command.Stderr = c.log, c.log
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.err = c.command.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			text := c.log.String()
			t.Logf("log of %s ends:\n%s", p.Holder, text[max(0, len(text)-3000):])
		}
	})
	return c
}

// kill ends the process at once, wherever it is.
func (c *child) kill() {
	_ = c.command.Process.Kill() // it may have ended by itself
	<-c.ended
}

// stop asks the process to end and requires that it does so cleanly.
func (c *child) stop() {
	c.t.Helper()
	_ = c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("the intake did not end in %v", patience)
	}
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		c.t.Fatalf("the intake ended with %v\n%s", c.err, c.log)
	}
}

// patience bounds every wait for something that surely comes.
const patience = 3 * time.Minute

// eventually waits until is holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("waited %v for %s", patience, what)
}

// logBuffer collects a log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
