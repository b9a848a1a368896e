package e2e_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

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

// run is the child's main.
func run(ctx context.Context, p plan) error {
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

// process is a running child process.
type process struct {
	*child.Process
	t *testing.T
}

// spawn starts a child that runs the plan; connections, name and holder are the bed's. It is killed when the test ends.
func (b *bed) spawn(p plan) *process {
	b.t.Helper()
	p.StateURL, p.ViewURL, p.Brokers, p.Namespace = b.stateURL, b.viewURL, b.cluster.Seeds, b.ns.Name
	p.Holder, p.MaxBatch, p.DeliveryTimeout = b.holder(), b.maxBatch, b.deliveryTimeout
	return &process{Process: child.Start(b.t, p.Holder, p), t: b.t}
}

// died waits until the process has ended itself at the point.
func (c *process) died(point string) {
	c.t.Helper()
	err := c.Await()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 || !strings.HasSuffix(strings.TrimSpace(c.Log.String()), killedAt(point)) {
		c.t.Fatalf("child process was not killed %s: %v\n%s", point, err, c.Log)
	}
}
