package clitest

import (
	"context"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/internal/pgserver"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/kafka/embedded"
)

// TestPostgresRestartedUnderRun: while the database is away the stages show that they are stalled and lose nothing; when
// it is back they go on by themselves.
func TestPostgresRestartedUnderRun(t *testing.T) {
	t.Parallel()
	options := pgserver.Options{Dir: t.TempDir(), TCP: true}
	server := pg.Server(t, options)
	options.Port = server.Port() // the same after the restart
	w := worldOn(t, server.TCPURL("postgres"), strings.Join(kafkatest.Fake(t).Seeds, ","))
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	w.must("generate", "--count", "20000", "--seed", "2")
	before := w.frontiers()
	stages := w.run("--max-batch", "100")
	stages.await("moves", func() bool { return w.frontiers() != before })
	said := len(stages.stderr.String())
	if err := server.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	stages.says("partition failed", said)
	stages.says("step failed", said)
	w.fails(1, `^database amends@127.*: no server answers: .*; start Postgres, or check --database-url`, "verify", "--quiesce")
	w.fails(1, `^database amends@127.*: no server answers: .*; start Postgres, or check --database-url`, "status")
	pg.Server(t, options)
	w.passes("shop")
	stages.says("step succeeded again", said)
	stages.stop(syscall.SIGTERM, 0)
}

// TestBrokerRestartedUnderRun: the same with the broker.
func TestBrokerRestartedUnderRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broker := startBroker(t, folder, 0)
	address := broker.Addresses()[0]
	w := worldOn(t, pg.New(t), address)
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	w.must("generate", "--count", "20000", "--seed", "2")
	before := w.frontiers()
	stages := w.run("--max-batch", "100")
	stages.await("moves", func() bool { return w.frontiers() != before })
	said := len(stages.stderr.String())
	broker.Stop()
	stages.says("step failed", said)
	w.fails(1, `^brokers `+address+`: no broker answers: .*; start the broker, or check --brokers`, "verify", "--quiesce")
	w.fails(1, `^brokers `+address+`: no broker answers: .*; start the broker, or check --brokers`, "status")
	startBroker(t, folder, portOf(t, address))
	w.passes("shop")
	stages.says("step succeeded again", said)
	stages.stop(syscall.SIGTERM, 0)
}

func startBroker(t *testing.T, folder string, port int) *embedded.Broker {
	t.Helper()
	broker, err := embedded.Start(folder, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	return broker
}

// portOf is the port of a host:port address.
func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
