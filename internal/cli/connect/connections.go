package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// openTimeout bounds the first contact with a server.
const openTimeout = 15 * time.Second

// Connections say where the servers are. Printing one shows no password.
type Connections struct {
	database, view database
	// Kafka reaches the brokers.
	Kafka kafka.Config
}

// database is where one database is, and the setting that said so.
type database struct {
	url     kafka.Secret
	setting string
}

// To returns connections to given servers, as the demo and tests have them. An empty viewURL is databaseURL.
func To(databaseURL, viewURL string, brokers kafka.Config) Connections {
	c := Connections{database: database{url: kafka.NewSecret(databaseURL), setting: "the database URL"}, Kafka: brokers}
	c.view = c.database
	if viewURL != "" {
		c.view.url = kafka.NewSecret(viewURL)
	}
	return c
}

// StateURL is the database of catalog and processing state, and may hold a password.
func (c Connections) StateURL() string { return c.database.url.Reveal() }

// ViewURL is the database of the view, and may hold a password.
func (c Connections) ViewURL() string { return c.view.url.Reveal() }

// JudgeBrokers are the same brokers as the oracle's own consumer takes them.
func (c Connections) JudgeBrokers() source.Config {
	config := source.Config{Brokers: c.Kafka.Brokers}
	if c.Kafka.TLS != nil {
		t := source.TLS(*c.Kafka.TLS)
		config.TLS = &t
	}
	if s := c.Kafka.SASL; s != nil {
		config.SASL = &source.SASL{Mechanism: s.Mechanism, User: s.User, Password: s.Password.Reveal}
	}
	return config
}

// Check fails with exit code 2 where the settings for databases or brokers are missing, before anything is opened.
func (c Connections) Check() error {
	if c.database.url.Reveal() == "" {
		return exit.With(exit.Usage, fmt.Errorf("no database given; set %s", c.database.setting))
	}
	if len(c.Kafka.Brokers) == 0 {
		return exit.With(exit.Usage, errors.New("no broker given; set --brokers or AMENDS_BROKERS"))
	}
	return nil
}

// Catalog opens a pool on the catalog's schema, whether or not the database has it. The error is one line that names
// the server and what to do, with exit code 1, or 2 where no database was given. The caller closes the pool.
func (c Connections) Catalog(ctx context.Context) (*postgres.Pool, error) {
	return c.database.open(ctx, postgres.CatalogSchema)
}

// Views opens a pool on the view's database, as Catalog does, with no schema on its search_path.
func (c Connections) Views(ctx context.Context) (*postgres.Pool, error) { return c.view.open(ctx, "") }

func (d database) open(ctx context.Context, schema string) (*postgres.Pool, error) {
	return d.connect(ctx, postgres.Options{Schema: schema, MaxConns: 4})
}

// connect opens a pool; it fills in the URL.
func (d database) connect(ctx context.Context, options postgres.Options) (*postgres.Pool, error) {
	if d.url.Reveal() == "" {
		return nil, exit.With(exit.Usage, fmt.Errorf("no database given; set %s", d.setting))
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	options.URL = d.url.Reveal()
	pool, err := postgres.Connect(ctx, options)
	if err != nil {
		return nil, d.explain(err)
	}
	return pool, nil
}

// explain makes one line of an error of the database.
func (d database) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", postgres.ErrUnreachable, err)
	}
	err = postgres.Explain(err)
	remedy := "check " + d.setting
	switch {
	case errors.Is(err, postgres.ErrUnreachable):
		remedy = "start Postgres, or check " + d.setting
	case errors.Is(err, postgres.ErrCredentials):
		remedy = "check user and password in " + d.setting + ", or PGPASSWORD"
	case errors.Is(err, postgres.ErrNoDatabase):
		remedy = "create it with createdb, or check " + d.setting
	case errors.Is(err, postgres.ErrPermission):
		remedy = "grant it, or use another user"
	}
	where := "database"
	if place := postgres.Place(d.url.Reveal()); place != "" {
		where += " " + place
	}
	return oneLine(fmt.Errorf("%s: %w; %s", where, err, remedy))
}

// Admin opens an administration client and proves that a broker answers. Errors are as Catalog's.
func (c Connections) Admin(ctx context.Context) (*kafka.Admin, error) {
	if len(c.Kafka.Brokers) == 0 {
		return nil, exit.With(exit.Usage, errors.New("no broker given; set --brokers or AMENDS_BROKERS"))
	}
	admin, err := kafka.NewAdmin(c.Kafka)
	if err != nil {
		return nil, exit.With(exit.Usage, oneLine(err))
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := admin.Ping(ctx); err != nil {
		admin.Close()
		return nil, c.explainBroker(err)
	}
	return admin, nil
}

func (c Connections) explainBroker(err error) error {
	remedy := "start the broker, or check --brokers or AMENDS_BROKERS"
	switch {
	case errors.Is(err, kafka.ErrCredentials):
		remedy = "check the sasl flags and the password"
	case errors.Is(err, kafka.ErrClosed):
		remedy = "check whether it wants TLS or SASL, and the password"
	case errors.Is(err, kafka.ErrCertificate):
		remedy = "check the tls flags"
	}
	return oneLine(fmt.Errorf("brokers %s: %w; %s", strings.Join(c.Kafka.Brokers, ","), err, remedy))
}

// lineError shows an error's text on one line.
type lineError struct{ err error }

// Error implements error. A line that says the same as the one before is left out: Postgres is tried twice, with TLS and
// without.
func (e lineError) Error() string {
	var words []string
	before := ""
	for line := range strings.SplitSeq(e.err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != before {
			words = append(words, strings.Fields(line)...)
		}
		before = line
	}
	return strings.Join(words, " ")
}

// Unwrap returns the error.
func (e lineError) Unwrap() error { return e.err }

// oneLine puts an error's text on one line; nil stays nil.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return lineError{err: err}
}
