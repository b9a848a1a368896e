package clitest

import (
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"amends.dev/amends/internal/pgserver"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// serverVerbs are the verbs that need database and broker, as these tests call them.
var serverVerbs = [][]string{
	{"apply", "--yes", "shop.yaml"},
	{"plan", "shop.yaml"},
	{"run"},
	{"generate", "--count", "5"},
	{"status"},
	{"export", "--out", "dump"},
	{"verify", "--quiesce", "--timeout", "5s"},
}

// TestWrongSettings: servers that do not answer, refuse the user or have no such database, for every verb that needs
// them: one line that names the server and what to do, exit code 1, nothing changed.
func TestWrongSettings(t *testing.T) { //nolint:tparallel // its subtests share one world, compared after each
	t.Parallel()
	w := appliedWorld(t)
	before := w.frontiers()
	postgres := pg.Server(t, pgserver.Options{TCP: true, NoSync: true})
	password := strings.Replace(postgres.TCPURL("postgres"), "@", secret+"@", 1)
	sasl := kafkatest.Fake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "right")).Seeds[0]
	troubles := map[string]struct {
		env  []string
		line string
	}{
		"broker unreachable": {[]string{"AMENDS_BROKERS=127.0.0.1:1"},
			`^brokers 127\.0\.0\.1:1: no broker answers: .*connection refused; start the broker, or check --brokers or AMENDS_BROKERS$`},
		"broker unknown": {[]string{"AMENDS_BROKERS=nosuch.invalid:9092"},
			`^brokers nosuch\.invalid:9092: no broker answers: .*; start the broker, or check --brokers`},
		"broker wants SASL": {[]string{"AMENDS_BROKERS=" + sasl},
			`^brokers 127.*: the broker closes the connection: .*; check whether it wants TLS or SASL, and the password$`},
		"broker, wrong password": {[]string{"AMENDS_BROKERS=" + sasl, "AMENDS_SASL_USER=admin", "AMENDS_SASL_PASSWORD=" + secret},
			`^brokers 127.*; check (whether it wants TLS or SASL, and the|the sasl flags and the) password$`},
		"database unreachable": {[]string{"AMENDS_DATABASE_URL=postgres://u:" + secret + "@127.0.0.1:1/x"},
			`^database u@127\.0\.0\.1:1/x: no server answers: .*connection refused; start Postgres, or check (--database-url|the database URL)`},
		"database host unknown": {[]string{"AMENDS_DATABASE_URL=postgres://u:" + secret + "@nosuch.invalid/x"},
			`^database u@nosuch\.invalid:5432/x: no server answers: .*; start Postgres, or check (--database-url|the database URL)`},
		"database, wrong password": {[]string{"AMENDS_DATABASE_URL=" + password},
			`^database amends@127.*: the server refuses the credentials: .*; check user and password in (--database-url|the database URL)`},
		"no such database": {[]string{"AMENDS_DATABASE_URL=" + postgres.TCPURL("nosuch")},
			`^database amends@127.*/nosuch: the server has no such database: .*; create it with createdb, or check (--database-url|the database URL)`},
		"database URL unreadable": {[]string{"AMENDS_DATABASE_URL=postgres://u:" + secret + "@h:xx/x"},
			`^database: the connection URL cannot be read: .*; check (--database-url|the database URL)`},
	}
	verbs := append([][]string{{"demo", "--data", "demo", "--records", "40"}}, serverVerbs...)
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			for _, args := range verbs {
				w.on(t).with(trouble.env...).fails(1, trouble.line, args...)
			}
		})
	}
	if after := w.frontiers(); after != before {
		t.Errorf("frontiers %s became %s", before, after)
	}
	w.proves("shop", 2)
}

// TestWrongViewDatabase: a view's database of its own is named as such.
func TestWrongViewDatabase(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	broken := w.with("AMENDS_VIEW_DATABASE_URL=postgres://u:" + secret + "@127.0.0.1:1/x")
	for _, args := range [][]string{serverVerbs[0], serverVerbs[1], serverVerbs[2], serverVerbs[4], serverVerbs[6]} {
		broken.fails(1, `u@127\.0\.0\.1:1/x: no server answers: .*; start Postgres, or check --view-database-url`, args...)
	}
	w.proves("shop", 2)
}

// TestNothingGiven: without a setting the verb says which, as a matter of usage.
func TestNothingGiven(t *testing.T) {
	t.Parallel()
	w := worldOn(t, "", "")
	for _, args := range serverVerbs {
		w.fails(2, `^no database given; set --database-url or AMENDS_DATABASE_URL \(see 'amendsctl `+args[0]+` --help'\)$`, args...)
	}
	w = w.with("AMENDS_DATABASE_URL=postgres://127.0.0.1:1/x")
	for _, args := range serverVerbs {
		w.fails(2, `^no broker given; set --brokers or AMENDS_BROKERS`, args...)
	}
}

// TestServerThatNeverAnswers: something listens and says nothing; the wait is bounded and the line says what to do.
func TestServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	w := emptyWorld(t)
	database := w.with("AMENDS_DATABASE_URL=postgres://u:" + secret + "@" + silent.Addr().String() + "/x").start("status")
	broker := w.with("AMENDS_BROKERS="+silent.Addr().String()).start("plan", "shop.yaml")
	for what, p := range map[string]*process{"no server answers": database, "no broker answers": broker} {
		o := p.wait()
		if line, err := o.errorLine(p.args); o.code != 1 || err != nil || !strings.Contains(line, what) || !strings.Contains(line, silent.Addr().String()) {
			t.Errorf("%s: exit code %d, %v: %s", what, o.code, err, o.stderr)
		}
	}
}
