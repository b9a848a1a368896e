package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
func reset(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, markerFile)); err != nil {
		return exit.With(exit.Refused, fmt.Errorf("%s is not a folder of the demo (it has no file %s); remove it yourself, or name another with --data", folder, markerFile))
	}
	lock, err := embedded.Start(filepath.Join(folder, "broker"), 0)
	if errors.Is(err, embedded.ErrHeld) {
		return held(folder, err)
	}
	if err == nil { // else the broker's data are damaged, and to be removed all the more
		lock.Stop()
	}
	if err := pgserver.StopLeft(ctx, filepath.Join(folder, "postgres")); err != nil {
		return fmt.Errorf("remove the demo's folder: %w", err)
	}
	return remove(folder)
}

// remove takes a folder out of the way by one rename before it removes it, so that an interrupted removal leaves no half
// of a demo in its place. What an interrupted one left aside is removed too.
func remove(folder string) error {
	aside := filepath.Join(filepath.Dir(folder), "."+filepath.Base(folder)+".removed")
	err := os.RemoveAll(aside)
	if err == nil {
		err = os.Rename(folder, aside)
	}
	if err == nil {
		err = os.RemoveAll(aside)
	}
	if err != nil {
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
		return fmt.Errorf("make the demo's folder: %w; name another with --data", err)
	}
	mark := filepath.Join(folder, markerFile)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the demo's folder: %w; name another with --data", err)
	}
	if len(entries) > 0 {
		return exit.With(exit.Refused, fmt.Errorf("%s is not empty and not a folder of the demo; name another with --data", folder))
	}
	if err := os.WriteFile(mark, []byte("This folder belongs to `amendsctl demo`; `amendsctl demo --reset` removes it.\n"), 0o644); err != nil {
		return fmt.Errorf("mark the demo's folder: %w", err)
	}
	return nil
}

// start brings up what was not given: an embedded broker, whose lock guards the whole folder, and a private Postgres.
func start(ctx context.Context, o *options, given connect.Connections, show *progress) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.broker, err = embedded.Start(filepath.Join(o.folder, "broker"), o.brokerPort); err != nil {
		return s, inUse("--broker-port", held(o.folder, err))
	}
	env := ""
	database, brokers := given.StateURL(), given.Kafka
	if len(brokers.Brokers) == 0 {
		brokers = kafka.Config{Brokers: s.broker.Addresses()}
		env += fmt.Sprintf("export AMENDS_BROKERS='%s'\n", strings.Join(brokers.Brokers, ","))
	}
	if database == "" {
		if s.postgres, err = o.startPostgres(ctx, show); err != nil {
			return s, err
		}
		database = s.postgres.TCPURL("postgres")
		env += fmt.Sprintf("export AMENDS_DATABASE_URL='%s'\n", database)
	}
	s.connections = connect.To(database, given.ViewURL(), brokers)
	// Only what the demo itself brought up: other connections, and their secrets, are the user's to keep.
	if err := os.WriteFile(filepath.Join(o.folder, "env"), []byte(env), 0o600); err != nil {
		return s, fmt.Errorf("write the demo's connections: %w", err)
	}
	return s, nil
}

// startPostgres starts the private server.
func (o *options) startPostgres(ctx context.Context, show *progress) (*pgserver.Server, error) {
	server, err := pgserver.Start(ctx, pgserver.Options{
		Dir: filepath.Join(o.folder, "postgres"), TCP: true, Port: o.postgresPort, Download: o.download,
	})
	if err != nil {
		return nil, explainPostgres(err)
	}
	for _, folder := range server.Opened() {
		show.say("made %s passable for other users (chmod o+x): Postgres does not run as root", folder)
	}
	return server, nil
}

// explainPostgres adds to an error of starting the private server what to do.
func explainPostgres(err error) error {
	if errors.Is(err, pgserver.ErrMissing) {
		return fmt.Errorf("%w; --download-postgres fetches one into the demo's folder, --database-url takes one of your own", err)
	}
	return inUse("--postgres-port", err)
}

// inUse tells with a port that is in use which flag chooses another.
func inUse(flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another with %s, or 0 for a free one", err, flag)
	}
	return err
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
