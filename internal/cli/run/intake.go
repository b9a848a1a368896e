package run

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/server"
)

// intakeOptions are the flags of run intake. Each has an environment variable that stands in where it is not given.
type intakeOptions struct {
	app                                *app.App
	selector                           *connect.Selector
	listen, offered, status            string
	zones, targets                     []string
	tokens, certificate, key, clientCA string
	maxBody                            int64
	rate, maxUnpublished               int
	logFormat, logLevel                string
}

// newIntake returns the verb below run.
func newIntake(a *app.App) *cobra.Command {
	o := &intakeOptions{app: a}
	cmd := &cobra.Command{
		Use:   "intake",
		Short: "Accept transactions over HTTP, with answers that say how durable they are",
		Long: "intake serves POST /v1/namespaces/NAME/transactions: a sender asks for a durability level and learns what is\n" +
			"physically in place. Kept requests are published to the source topic and found again at their handles. It holds\n" +
			"the writer lease of the source topic: of several intakes one accepts and the others answer 503 and stand by, and\n" +
			"a verification that stops the writers is waited for. SIGINT and SIGTERM finish the requests it has and publish\n" +
			"what they left. The routes are at /v1/openapi.json; /livez, /readyz and /metrics are for operators.\n\n" +
			"Without authentication and TLS only a loopback address is served. A tokens file has one line for each token:\n" +
			"its SHA-256 in hexadecimal, a space, the author's name.",
		Example: "  amendsctl run intake -n shop --listen 127.0.0.1:8480\n" +
			"  amendsctl run intake -n shop --listen 0.0.0.0:8480 --tokens tokens.txt --serve-tls-cert c.pem --serve-tls-key k.pem",
		Args: cobra.NoArgs,
	}
	connections := connect.Register(cmd)
	o.selector = connect.RegisterSelector(cmd)
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8480", "address to serve, as host:port [AMENDS_INTAKE_LISTEN]")
	f.StringVar(&o.offered, "durability", string(durability.Published), "strongest level offered: none, stored or published [AMENDS_INTAKE_DURABILITY]")
	f.StringArrayVar(&o.zones, "zone", nil, "zone characteristic to advertise, as LEVEL=ZONE; may be repeated")
	f.StringArrayVar(&o.targets, "deliver-to", nil, "topic that senders may name for the worker's decisions; may be repeated")
	f.StringVar(&o.status, "status-topic", "", "topic that receives the latest status of each kept request [AMENDS_INTAKE_STATUS_TOPIC]")
	f.StringVar(&o.tokens, "tokens", "", "file of the bearer tokens' digests and authors [AMENDS_INTAKE_TOKENS]")
	f.StringVar(&o.certificate, "serve-tls-cert", "", "file of the server's certificate [AMENDS_INTAKE_TLS_CERT]")
	f.StringVar(&o.key, "serve-tls-key", "", "file of the certificate's key [AMENDS_INTAKE_TLS_KEY]")
	f.StringVar(&o.clientCA, "client-ca", "", "file of the certificates that sign clients': their subjects are authors [AMENDS_INTAKE_CLIENT_CA]")
	f.Int64Var(&o.maxBody, "max-body", server.DefaultMaxBody, "largest body, in bytes")
	f.IntVar(&o.rate, "rate", 0, "submissions of one author in a second; 0 is unlimited")
	f.IntVar(&o.maxUnpublished, "max-unpublished", intake.DefaultBacklog,
		"kept requests that may wait to be published; further ones are told to come again")
	f.StringVar(&o.logFormat, "log-format", "text", "log format: text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "least level logged: debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.fill(cmd)
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), c)
	}
	return cmd
}

// fill takes what no flag gives from the environment.
func (o *intakeOptions) fill(cmd *cobra.Command) {
	for flag, at := range map[string]struct {
		variable string
		value    *string
	}{
		"listen": {"AMENDS_INTAKE_LISTEN", &o.listen}, "durability": {"AMENDS_INTAKE_DURABILITY", &o.offered},
		"status-topic": {"AMENDS_INTAKE_STATUS_TOPIC", &o.status},
		"tokens":       {"AMENDS_INTAKE_TOKENS", &o.tokens}, "serve-tls-cert": {"AMENDS_INTAKE_TLS_CERT", &o.certificate},
		"serve-tls-key": {"AMENDS_INTAKE_TLS_KEY", &o.key}, "client-ca": {"AMENDS_INTAKE_CLIENT_CA", &o.clientCA},
	} {
		if value := o.app.Getenv(at.variable); value != "" && !cmd.Flags().Changed(flag) {
			*at.value = value
		}
	}
}

// settings are the options of the pipeline as the flags say, without those of the servers.
func (o *intakeOptions) settings() (pipeline.IntakeOptions, error) {
	p := pipeline.IntakeOptions{
		Listen: o.listen, Offered: durability.Level(o.offered), Targets: o.targets, StatusTopic: o.status,
		MaxBody: o.maxBody, Rate: o.rate, MaxUnpublished: o.maxUnpublished, Zones: map[durability.Level][]string{},
	}
	if !p.Offered.Recognised() {
		return p, fmt.Errorf("--durability %s: want none, stored or published", o.offered)
	}
	if o.maxBody < 1 || o.maxBody > server.MaxBodyLimit {
		return p, fmt.Errorf("--max-body %d: want 1 to %d", o.maxBody, server.MaxBodyLimit)
	}
	if o.rate < 0 {
		return p, errors.New("--rate " + strconv.Itoa(o.rate) + ": want 0 or more")
	}
	if o.maxUnpublished < 1 {
		return p, fmt.Errorf("--max-unpublished %d: want 1 or more", o.maxUnpublished)
	}
	for _, zone := range o.zones {
		level, name, found := strings.Cut(zone, "=")
		if !found || name == "" || !durability.Level(level).Recognised() {
			return p, fmt.Errorf("--zone %s: want LEVEL=ZONE, for example stored=same-host", zone)
		}
		p.Zones[durability.Level(level)] = append(p.Zones[durability.Level(level)], name)
	}
	var err error
	if p.TLS, err = o.tls(); err != nil {
		return p, err
	}
	p.Authors, err = o.authors()
	return p, err
}

// tls is the server's configuration, nil for plain text.
func (o *intakeOptions) tls() (*tls.Config, error) {
	if (o.certificate == "") != (o.key == "") {
		return nil, errors.New("--serve-tls-cert and --serve-tls-key come together")
	}
	if o.certificate == "" {
		if o.clientCA != "" {
			return nil, errors.New("--client-ca needs --serve-tls-cert and --serve-tls-key")
		}
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		return nil, fmt.Errorf("the server's certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if o.clientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(o.clientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--client-ca: %s holds no PEM certificate", o.clientCA)
	}
	return config, nil
}

// authors are who may send, nil for everybody.
func (o *intakeOptions) authors() (server.Authors, error) {
	p := server.Principals{Certificates: o.clientCA != ""}
	if o.tokens == "" && !p.Certificates {
		return nil, nil
	}
	if o.tokens == "" {
		return p, nil
	}
	file, err := os.Open(o.tokens)
	if err != nil {
		return nil, fmt.Errorf("--tokens: %w", err)
	}
	defer func() { _ = file.Close() }()
	if p.Tokens, err = server.ReadTokens(file); err != nil {
		return nil, fmt.Errorf("--tokens: %s: %w", o.tokens, err)
	}
	if len(p.Tokens) == 0 && !p.Certificates {
		return nil, fmt.Errorf("--tokens: %s holds no token", o.tokens)
	}
	return p, nil
}

// run serves until ctx ends, which is how it is meant to end: exit code 0.
func (o *intakeOptions) run(ctx context.Context, c connect.Connections) error {
	log, err := newLog(o.app.Stderr, o.logFormat, o.logLevel)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	p, err := o.settings()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if err := server.CheckExposure(p.Listen, p.Authors != nil, p.TLS != nil); err != nil {
		if errors.Is(err, server.ErrExposed) {
			err = fmt.Errorf("%w; give --tokens or --client-ca, and --serve-tls-cert with --serve-tls-key", err)
			return exit.With(exit.Refused, err)
		}
		return exit.With(exit.Usage, err)
	}
	shared := &options{app: o.app, selector: o.selector}
	if p.Applied, err = shared.load(ctx, c, []string{pipeline.Intake}); err != nil {
		return err
	}
	if p.Holder, err = pipeline.NewHolder(); err != nil {
		return err
	}
	p.StateURL, p.Kafka, p.Log = c.StateURL(), c.Kafka, log
	machine.Generous(o.app.Getenv)
	s, err := pipeline.NewIntake(ctx, p)
	if err != nil {
		return refuse(err)
	}
	log.Info("serving", "namespace", p.Applied.Name, "address", s.Addr(), "durability", o.offered, "holder", p.Holder)
	if err := s.Run(ctx); err != nil {
		return err
	}
	log.Info("stopped", "namespace", p.Applied.Name)
	return nil
}
