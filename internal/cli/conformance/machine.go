package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/conformance"
	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/kafka/embedded"
)

// machine holds the servers of one run.
type machine struct {
	servers *conformance.Servers
	folder  string
	// postgres and broker are nil where they were given, or are not there.
	postgres *pgserver.Server
	broker   *embedded.Broker
}

// start brings up what was not given. A missing Postgres is no error: the levels that need one are not run, and say so.
func start(ctx context.Context, a *app.App, given connect.Connections, withBroker bool) (m *machine, err error) {
	m = &machine{servers: &conformance.Servers{Clock: clock{}, DatabaseURL: given.StateURL(), Brokers: given.Kafka, Judge: given.JudgeBrokers()}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.stop())
		}
	}()
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return m, fmt.Errorf("name this run: %w", err)
	}
	m.servers.Run = hex.EncodeToString(random[:])
	if m.folder, err = os.MkdirTemp("", "amends-conformance-"); err != nil {
		return m, fmt.Errorf("make a folder for the servers: %w", err)
	}
	if m.servers.DatabaseURL == "" {
		m.postgres, err = pgserver.Start(ctx, pgserver.Options{Dir: filepath.Join(m.folder, "postgres"), NoSync: true, Ephemeral: true})
		if errors.Is(err, pgserver.ErrMissing) {
			_, err = fmt.Fprintf(a.Stderr, "levels store and pipeline are not run: %v; or name a server with --database-url\n", err)
			return m, err
		}
		if err != nil {
			return m, fmt.Errorf("start a private Postgres: %w", err)
		}
		m.servers.DatabaseURL = m.postgres.URL("postgres")
	}
	if withBroker && len(given.Kafka.Brokers) == 0 {
		if m.broker, err = embedded.Start(filepath.Join(m.folder, "broker"), 0); err != nil {
			return m, fmt.Errorf("start an embedded broker: %w", err)
		}
		m.servers.Brokers = kafka.Config{Brokers: m.broker.Addresses()}
		m.servers.Judge.Brokers = m.broker.Addresses()
	}
	return m, nil
}

// stop ends what start brought up.
func (m *machine) stop() error {
	var err error
	if m.broker != nil {
		m.broker.Stop()
	}
	if m.postgres != nil {
		err = m.postgres.Stop(context.Background())
	}
	if m.folder != "" {
		err = errors.Join(err, os.RemoveAll(m.folder))
	}
	return err
}

// clock is real time.
type clock struct{}

// Now implements verify.Clock.
func (clock) Now() time.Time { return time.Now() }

// Sleep implements verify.Clock.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
