package e2e_test

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
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// planEnv holds the plan of a child process as JSON.
const planEnv = "AMENDS_E2E_CHILD"

// plan is what a child process does: run stages until its standard input ends, or generate records.
type plan struct {
	StateURL, ViewURL string
	Brokers           []string
	Namespace, Holder string
	Stages            []string
	MaxBatch          int
	DeliveryTimeout   time.Duration
	// Kill is the point at which the process ends itself, after so many passes of it.
	Kill  string
	After int64
	// Freeze makes the process stop at that point, once, until it is sent SIGCONT, rather than end.
	Freeze bool
	// Generate, where set, is published instead of running stages.
	Generate *generate.Options
}

// childMain is the child's main; it returns the exit code.
func childMain(text string) int {
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (p plan) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the parent closes it, or is gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	pool, err := postgres.Connect(ctx, postgres.Options{URL: p.StateURL, Schema: postgres.CatalogSchema, MaxConns: 2})
	if err != nil {
		return err
	}
	defer pool.Close()
	applied, err := postgres.NewCatalog(pool).Load(ctx, p.Namespace)
	if err != nil {
		return err
	}
	config := kafka.Config{Brokers: p.Brokers}
	if p.Generate != nil {
		_, err := pipeline.Generate(ctx, pipeline.Generation{
			Applied: applied, Catalog: pool, Kafka: config, Holder: p.Holder, Options: *p.Generate,
		})
		return err
	}
	options := pipeline.Options{
		Applied: applied, StateURL: p.StateURL, ViewURL: p.ViewURL, Kafka: config, Stages: p.Stages, Holder: p.Holder,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), MaxBatch: p.MaxBatch, DeliveryTimeout: p.DeliveryTimeout,
		Group: kafka.GroupOptions{SessionTimeout: sessionTimeout},
	}
	k := newKiller(p.Kill, p.After)
	if p.Freeze {
		k.freeze = freezeProcess
	}
	k.wrap(&options)
	stages, err := pipeline.New(ctx, options)
	if err != nil {
		return err
	}
	stages.Run(ctx)
	return nil
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

// spawn starts a child that runs the plan; connections, name and holder are the bed's. It is killed when the test ends.
func (b *bed) spawn(p plan) *child {
	b.t.Helper()
	p.StateURL, p.ViewURL, p.Brokers, p.Namespace = b.stateURL, b.viewURL, b.cluster.Seeds, b.ns.Name
	p.Holder, p.MaxBatch, p.DeliveryTimeout = b.holder(), b.maxBatch, b.deliveryTimeout
	text, err := json.Marshal(p)
	b.must(err)
	c := &child{t: b.t, log: newLog(b.t, p.Holder), ended: make(chan struct{})}
	c.command = exec.Command(os.Args[0])
	c.command.Env = append(os.Environ(), planEnv+"="+string(text))
	c.command.Stdout, c.command.Stderr = c.log, c.log
	c.stdin, err = c.command.StdinPipe()
	b.must(err)
	b.must(c.command.Start())
	go func() {
		c.err = c.command.Wait()
		close(c.ended)
	}()
	b.t.Cleanup(c.kill)
	return c
}

// kill ends the process at once, wherever it is, and waits for its end.
func (c *child) kill() {
	_ = c.command.Process.Kill() // it may have ended by itself
	<-c.ended
}

// stop asks the process to end and requires that it does so cleanly.
func (c *child) stop() {
	c.t.Helper()
	_ = c.stdin.Close()
	c.await()
	if c.err != nil {
		c.t.Fatalf("child process: %v\n%s", c.err, c.log)
	}
}

// finish waits for a process that ends by itself, cleanly.
func (c *child) finish() {
	c.t.Helper()
	c.await()
	if c.err != nil {
		c.t.Fatalf("child process: %v\n%s", c.err, c.log)
	}
}

// died waits until the process has ended itself at the point.
func (c *child) died(point string) {
	c.t.Helper()
	c.await()
	var exit *exec.ExitError
	if !errors.As(c.err, &exit) || exit.ExitCode() != -1 || !strings.HasSuffix(strings.TrimSpace(c.log.String()), killedAt(point)) {
		c.t.Fatalf("child process was not killed %s: %v\n%s", point, c.err, c.log)
	}
}

func (c *child) await() {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("child process did not end in %v", patience)
	}
}
