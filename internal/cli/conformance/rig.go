package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/conformance"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/kafka/embedded"
)

// rig holds the servers of one run.
type rig struct {
	servers *conformance.Servers
	folder  string
	// postgres and broker are nil where they were given, or are not there.
	postgres *pgserver.Server
	broker   *embedded.Broker
}

// start brings up what was not given. A missing Postgres is no error: the levels that need one are not run, and say so.
func start(ctx context.Context, a *app.App, given connect.Connections, withBroker bool) (r *rig, err error) {
	r = &rig{servers: &conformance.Servers{Clock: machine.Clock{}, DatabaseURL: given.StateURL(), Brokers: given.Kafka, Judge: given.JudgeBrokers()}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return r, fmt.Errorf("name this run: %w", err)
	}
	r.servers.Run = hex.EncodeToString(random[:])
	if r.folder, err = os.MkdirTemp("", "amends-conformance-"); err != nil {
		return r, fmt.Errorf("make a folder for the servers: %w", err)
	}
	if r.servers.DatabaseURL != "" {
		if err := answers(ctx, given); err != nil {
			return r, err
		}
	} else {
		r.postgres, err = pgserver.Start(ctx, pgserver.Options{Dir: filepath.Join(r.folder, "postgres"), NoSync: true, Ephemeral: true})
		if errors.Is(err, pgserver.ErrMissing) {
			_, err = fmt.Fprintf(a.Stderr, "levels store and pipeline are not run: %v; or name a server with --database-url\n", err)
			return r, err
		}
		if err != nil {
			return r, fmt.Errorf("start a private Postgres: %w", err)
		}
		r.servers.DatabaseURL = r.postgres.URL("postgres")
	}
	if withBroker && len(given.Kafka.Brokers) == 0 {
		if r.broker, err = embedded.Start(filepath.Join(r.folder, "broker"), 0); err != nil {
			return r, fmt.Errorf("start an embedded broker: %w", err)
		}
		r.servers.Brokers = kafka.Config{Brokers: r.broker.Addresses()}
		r.servers.Judge.Brokers = r.broker.Addresses()
	}
	return r, nil
}

// stop ends what start brought up.
func (r *rig) stop() error {
	var err error
	if r.broker != nil {
		r.broker.Stop()
	}
	if r.postgres != nil {
		err = r.postgres.Stop(context.Background())
	}
	if r.folder != "" {
		err = errors.Join(err, os.RemoveAll(r.folder))
	}
	return err
}
