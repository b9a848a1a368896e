// Package intakeload runs the intake as its own process on a real Postgres and a real broker, under load and faults.
package intakeload

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/testkit/child"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// TestMain is also the entry of the child processes that tests start.
func TestMain(m *testing.M) {
	if code, is := child.Main(run); is {
		os.Exit(code)
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

// run is the child's main.
func run(ctx context.Context, p plan) error {
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

// spawn starts a child. It is killed when the test ends.
func spawn(t *testing.T, p plan) *child.Process {
	t.Helper()
	return child.Start(t, p.Holder, p)
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
