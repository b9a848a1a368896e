package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startTimeout bounds the time from starting the broker's process until it answers.
const startTimeout = 2 * time.Minute

// Server is a real broker process on a folder of its own. Its methods are for one goroutine at a time.
type Server struct {
	Cluster
	lib, dir string
	lock     *os.File
	process  *process
}

// start makes a folder, formats it and starts a broker. Free ports may be taken by others between choosing and use,
// so it tries a few times.
func start(killable bool) (*Server, error) {
	lib, err := jars()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		server, err := startOnce(lib, killable)
		if err == nil {
			return server, nil
		}
		if attempt == 3 {
			return nil, err
		}
	}
}

func startOnce(lib string, killable bool) (*Server, error) {
	dir, lock, err := newFolder()
	if err != nil {
		return nil, err
	}
	server := &Server{lib: lib, dir: dir, lock: lock}
	ports, err := freePorts(3)
	if err != nil {
		server.remove()
		return nil, err
	}
	server.Cluster = Cluster{
		Name:      "kafka",
		Seeds:     []string{fmt.Sprintf("127.0.0.1:%d", ports[0])},
		SASLSeeds: []string{fmt.Sprintf("127.0.0.1:%d", ports[1])},
	}
	config := properties(filepath.Join(dir, "data"), ports, killable)
	if err = os.WriteFile(server.config(), []byte(config), 0o600); err == nil {
		err = errors.Join(server.format(), server.run())
	}
	if err != nil {
		server.remove()
		return nil, err
	}
	return server, nil
}

// Kill ends the broker with SIGKILL, as a crash does, and waits until the process is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.process == nil {
		t.Fatal("kill: the broker does not run")
	}
	s.process.kill()
	s.process = nil
}

// Restart starts a killed broker on the same folder and port and waits until it serves again (7 to 15 seconds: it
// recovers its logs and its own former session has to end).
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("restart: %v", err)
	}
}

// java is the command line both of the formatter and of the broker: small heap, quick start.
func (s *Server) java(args ...string) *exec.Cmd {
	flags := []string{"-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(s.lib, "*")}
	return exec.Command("java", append(flags, args...)...)
}

func (s *Server) config() string { return filepath.Join(s.dir, "server.properties") }

func (s *Server) format() error {
	// A cluster ID that begins with "-" would be taken for an option, so it is a fixed one.
	output, err := s.java("kafka.tools.StorageTool", "format", "-t", "AmendsTestKit000000000", "-c", s.config()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the broker's folder: %w: %s", err, output)
	}
	return nil
}

// run starts the process and waits until the broker answers with itself as a live broker.
func (s *Server) run() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("broker log: %w", err)
	}
	defer func() { _ = log.Close() }()
	command := s.java("kafka.Kafka", s.config())
	command.Stdout, command.Stderr = log, log
	if s.process, err = launch(command); err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	if err = s.awaitReady(); err != nil {
		s.process.kill()
		s.process = nil
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; its log ends with: %s", err, text[max(0, len(text)-2000):])
	}
	return nil
}

func (s *Server) awaitReady() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Seeds...))
	if err != nil {
		return fmt.Errorf("client of the broker: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for ctx.Err() == nil {
		ask, done := context.WithTimeout(ctx, 2*time.Second)
		brokers, err := kadm.NewClient(client).ListBrokers(ask)
		done()
		if err == nil && len(brokers) == 1 {
			return nil
		}
		select {
		case <-s.process.ended:
			return errors.New("the broker ended while it started")
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the broker did not answer within %v", startTimeout)
}

// remove ends the broker and deletes its folder.
func (s *Server) remove() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
	_ = os.RemoveAll(s.dir)
	_ = s.lock.Close()
}
