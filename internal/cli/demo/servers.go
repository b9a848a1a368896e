package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/kafka/embedded"
)

// markerFile marks a folder as the demo's own, so that --reset never removes anything else.
const markerFile = "amends-demo"

// servers are the broker and the database of one run.
type servers struct {
	connections connect.Connections
	broker      *embedded.Broker
	postgres    *pgserver.Server
}

// reset removes the demo's folder. A folder without the demo's mark is refused. The folder's lock is taken first, so
// that a running demo keeps its data.
func reset(folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, markerFile)); err != nil {
		return exit.With(exit.Refused, fmt.Errorf("%s is not a folder of the demo (it has no file %s); remove it yourself, or name another with --data", folder, markerFile))
	}
	lock, err := embedded.Start(filepath.Join(folder, "broker"), 0)
	if err != nil {
		return held(folder, err)
	}
	lock.Stop()
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the demo's folder: %w", err)
	}
	return nil
}

// held gives a folder that another process uses its exit code.
func held(folder string, err error) error {
	if errors.Is(err, embedded.ErrHeld) {
		return exit.With(exit.Refused, fmt.Errorf("another demo is running on %s; stop it, or name another folder with --data", folder))
	}
	return err
}

// prepare makes the folder and its mark.
func prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	mark := filepath.Join(folder, markerFile)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		return exit.With(exit.Refused, errors.Join(err, fmt.Errorf("%s is not empty and not a folder of the demo; name another with --data", folder)))
	}
	if err := os.WriteFile(mark, []byte("This folder belongs to `amendsctl demo`; `amendsctl demo --reset` removes it.\n"), 0o644); err != nil {
		return fmt.Errorf("mark the demo's folder: %w", err)
	}
	return nil
}

// start brings up what was not given: an embedded broker, whose lock guards the whole folder, and a private Postgres.
func start(ctx context.Context, o *options, given connect.Connections) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	database, brokers := given.StateURL(), given.Kafka
	if s.broker, err = embedded.Start(filepath.Join(o.folder, "broker"), o.brokerPort); err != nil {
		return s, held(o.folder, err)
	}
	if len(brokers.Brokers) == 0 {
		brokers = kafka.Config{Brokers: s.broker.Addresses()}
	}
	if database == "" {
		s.postgres, err = pgserver.Start(ctx, pgserver.Options{
			Dir: filepath.Join(o.folder, "postgres"), TCP: true, Port: o.postgresPort, Download: o.download,
		})
		if errors.Is(err, pgserver.ErrMissing) {
			return s, fmt.Errorf("%w; --download-postgres fetches one into the demo's folder", err)
		}
		if err != nil {
			return s, fmt.Errorf("start the demo's Postgres: %w", err)
		}
		database = s.postgres.TCPURL("postgres")
	}
	view := given.ViewURL()
	if given.StateURL() == "" {
		view = ""
	}
	s.connections = connect.To(database, view, brokers)
	return s, s.writeEnv(filepath.Join(o.folder, "env"), database, brokers)
}

// writeEnv leaves the connections where a shell can take them from. It holds the private server's password.
func (s *servers) writeEnv(file, database string, brokers kafka.Config) error {
	text := fmt.Sprintf("export AMENDS_DATABASE_URL='%s'\nexport AMENDS_BROKERS='%s'\n", database, brokers.Brokers[0])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the demo's connections: %w", err)
	}
	return nil
}

// stop ends what start brought up. Everything acknowledged stays in the folder.
func (s *servers) stop() error {
	var err error
	if s.postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = s.postgres.Stop(ctx)
	}
	if s.broker != nil {
		s.broker.Stop()
	}
	return err
}
