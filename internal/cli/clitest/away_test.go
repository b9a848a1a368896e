package clitest

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/internal/pgserver"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// TestBrokerGoesUnderGenerate: generate waits for a broker that goes away, not for ever, and then says what is there.
// What was published stays, and is processed once the broker is back.
func TestBrokerGoesUnderGenerate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broker := startBroker(t, folder, 0)
	address := broker.Addresses()[0]
	w := worldOn(t, pg.New(t), address)
	w.fake = &kafkatest.Cluster{Seeds: []string{address}}
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	ends := w.ends()
	args := []string{"generate", "--count", "100000", "--rate", "2000", "--seed", "2", "-o", "json"}
	p := w.start(args...)
	p.await("publishes", func() bool { return w.ends() > ends+500 }) // by then some are acknowledged
	broker.Stop()
	o := p.wait()
	line, err := o.errorLine(args)
	if o.code != 1 || err != nil || !strings.Contains(line, "gave up after ") || !strings.HasSuffix(line, " records published so far stay in topic shop.transactions") {
		t.Errorf("exit code %d, %v: %s", o.code, err, o.stderr)
	}
	startBroker(t, folder, portOf(t, address))
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestPostgresRestartedUnderGenerate: a database that comes back in time stops no producer, and no record is lost or
// counted twice.
func TestPostgresRestartedUnderGenerate(t *testing.T) {
	t.Parallel()
	options := pgserver.Options{Dir: t.TempDir(), TCP: true}
	server := pg.Server(t, options)
	options.Port = server.Port() // the same after the restart
	w := worldOn(t, server.TCPURL("postgres"), "")
	w.fake = kafkatest.Fake(t)
	w = w.with("AMENDS_BROKERS=" + strings.Join(w.fake.Seeds, ","))
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	ends := w.ends()
	p := w.start("generate", "--count", "2000", "--rate", "500", "--seed", "2", "-o", "json")
	p.await("publishes", func() bool { return w.ends() > ends })
	if err := server.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	pg.Server(t, options)
	o := p.wait()
	var result struct{ Published int64 }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != 0 || result.Published != 2000 || w.ends()-ends != 2000 {
		t.Errorf("exit code %d, %v, %d records more: %s%s", o.code, err, w.ends()-ends, o.stdout, o.stderr)
	}
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestServersGoUnderVerify: a server that goes away while verify waits makes the verdict ERROR, in the report and the
// exit code; it says where, and the next one passes.
func TestServersGoUnderVerify(t *testing.T) {
	t.Parallel()
	options := pgserver.Options{Dir: t.TempDir(), TCP: true}
	server := pg.Server(t, options)
	options.Port = server.Port() // the same after the restart
	folder := t.TempDir()
	broker := startBroker(t, folder, 0)
	w := worldOn(t, server.TCPURL("postgres"), broker.Addresses()[0])
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	w.must("generate", "--count", "60", "--seed", "2")
	p := w.start("verify", "--quiesce", "-v") // no stages run: it waits for the worker
	p.says("worker", 0)
	if err := server.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := p.wait(); o.code != 1 || !strings.HasPrefix(o.stdout, "ERROR shop: worker: ") {
		t.Errorf("Postgres stopped: exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	pg.Server(t, options)
	stages := w.run()
	w.passes("shop")

	broker.Stop()
	o := w.ctl("export", "--out", "dump")
	if line, err := o.errorLine([]string{"export"}); o.code != 1 || err != nil || !strings.Contains(line, "no broker answers") {
		t.Errorf("broker stopped: exit code %d, %v: %s", o.code, err, o.stderr)
	}
	startBroker(t, folder, portOf(t, broker.Addresses()[0]))
	w.passes("shop")
	w.must("export", "--out", "dump")
	stages.stop(syscall.SIGTERM, 0)
}
