package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/server"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
)

// Intake is the name of the stage that accepts requests over HTTP; it is not among All.
const Intake = intake.Stage

// IntakeOptions say where the intake of a namespace listens and what it offers.
type IntakeOptions struct {
	// Applied is the namespace with its topic IDs, as the catalog proved it.
	Applied *postgres.Applied
	// StateURL is the database of catalog and processing state.
	StateURL string
	Kafka    kafka.Config
	// Holder names this process in the writer lease; no two processes ever share one.
	Holder string
	// Listen is host:port; port 0 takes a free one.
	Listen string
	// TLS is nil for plain text.
	TLS *tls.Config
	// Authors is nil where there is no authentication.
	Authors server.Authors
	// Offered is the strongest level offered; Zones are advertised with the levels.
	Offered durability.Level
	Zones   map[durability.Level][]string
	// Targets are topics that deliver_to may name; they exist.
	Targets []string
	// StatusTopic receives the statuses of kept requests (R28); it exists. Empty for none.
	StatusTopic string
	// MaxBody, Rate, MaxUnpublished, DeliveryTimeout and LeaseTTL are the server's and intake's defaults where zero.
	MaxBody                   int64
	Rate, MaxUnpublished      int
	DeliveryTimeout, LeaseTTL time.Duration
	Log                       *slog.Logger
}

// IntakeServer is an intake that was started. Addr and Status may be called from any goroutine.
type IntakeServer struct {
	options  IntakeOptions
	intake   *intake.Intake
	http     *http.Server
	listener net.Listener
	lease    *run.Runner
	work     *run.Runner
	requests *requests
	closers  []func()
}

// intakeShutdown bounds how long requests are finished and publications drained at the end.
const intakeShutdown = 30 * time.Second

// NewIntake connects what an intake needs, checks its topics, and listens. Close, or the end of Run, releases it. An error
// wraps server.ErrExposed where others could reach it without authentication and TLS.
func NewIntake(ctx context.Context, options IntakeOptions) (*IntakeServer, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.Log = options.Log.With("namespace", options.Applied.Name)
	if options.DeliveryTimeout <= 0 {
		options.DeliveryTimeout = intake.DefaultDeliveryTimeout
	}
	if options.LeaseTTL <= 0 {
		options.LeaseTTL = 4 * options.DeliveryTimeout
	}
	if err := server.CheckExposure(options.Listen, options.Authors != nil, options.TLS != nil); err != nil {
		return nil, err
	}
	s := &IntakeServer{options: options}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *IntakeServer) closer(f func()) { s.closers = append(s.closers, f) }

// open connects to everything, in the order of what is likelier to be wrong.
func (s *IntakeServer) open(ctx context.Context) error {
	o := s.options
	deep, err := s.parts(ctx)
	if err != nil {
		return err
	}
	if s.intake, err = intake.New(deep); err != nil {
		return err
	}
	drain, err := s.drain(ctx)
	if err != nil {
		return err
	}
	runner := run.Options{Now: time.Now, Random: rand.Int64N, Log: o.Log}
	s.lease = run.New(runner, s.intake.LeaseTask())
	s.work = run.New(runner, append(s.intake.Tasks(), drain)...)
	if err := s.watchRequests(ctx); err != nil {
		return err
	}
	authors := o.Authors
	if authors == nil {
		authors = server.Local{}
	}
	handler := server.New(server.Options{
		Intake: s.intake, Namespace: o.Applied.Name, Offered: deep.Offered, Zones: o.Zones, Authors: authors, Now: time.Now,
		MaxBody: o.MaxBody, Rate: o.Rate, Status: s.Status, Log: o.Log,
	})
	s.http = server.HTTP(handler, o.TLS, o.Log)
	s.http.RegisterOnShutdown(s.intake.EndWaits)
	var config net.ListenConfig
	if s.listener, err = config.Listen(ctx, "tcp", o.Listen); err != nil {
		return fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	return nil
}

// attempts tells the attempts of one process apart; the holder's name tells processes apart.
type attempts struct {
	holder string
	next   atomic.Int64
}

func (a *attempts) name() string { return fmt.Sprintf("%s/%d", a.holder, a.next.Add(1)) }

// parts are the ports of the intake.
func (s *IntakeServer) parts(ctx context.Context) (intake.Options, error) {
	o := s.options
	ns := o.Applied.Namespace
	state, err := s.pool(ctx, ns.StateSchema(), 8)
	if err != nil {
		return intake.Options{}, err
	}
	if err := postgres.CheckLayout(ctx, state, postgres.KindOwner, ns.StateSchema()); err != nil {
		return intake.Options{}, err
	}
	catalog, err := s.pool(ctx, postgres.CatalogSchema, 1)
	if err != nil {
		return intake.Options{}, err
	}
	publisher, err := s.publisher(ctx)
	if err != nil {
		return intake.Options{}, err
	}
	targets, status, err := s.targets(ctx)
	if err != nil {
		return intake.Options{}, err
	}
	config := ledger.NewConfig(ns, o.Applied.SourceTopicID)
	names := &attempts{holder: o.Holder}
	return intake.Options{
		Config: config, Offered: func() durability.Level { return o.Offered }, Zones: o.Zones, Store: ownerpg.New(state),
		Publisher: publisher, Lease: postgres.NewWriterLease(catalog, o.Applied.SourceTopicID, o.Holder), Holder: o.Holder,
		Decisions: postgres.NewDecisions(state, config), Targets: targets, Status: status, Clock: intake.Clock{Now: time.Now, Sleep: sleep},
		Attempt: names.name, Log: o.Log, DeliveryTimeout: o.DeliveryTimeout, LeaseTTL: o.LeaseTTL,
		Backlog: o.MaxUnpublished,
	}, nil
}

// sleep waits, at most until ctx ends, whose error it then returns.
func sleep(ctx context.Context, d time.Duration) error { return sleepUntil(ctx, time.Now().Add(d)) }

func (s *IntakeServer) pool(ctx context.Context, schema string, conns int32) (*postgres.Pool, error) {
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: s.options.StateURL, Schema: schema, Application: postgres.ApplicationName(Intake, s.options.Applied.Name), MaxConns: conns,
	})
	if err != nil {
		return nil, err
	}
	s.closer(pool.Close)
	return pool, nil
}

// publisher is a producer to the source topic of its own: each is used by one goroutine.
func (s *IntakeServer) publisher(ctx context.Context) (*kafka.Publisher, error) {
	source := s.options.Applied.Namespace.Spec.Source
	topic := kafka.Topic{Name: source.Topic, ID: s.options.Applied.SourceTopicID, Partitions: source.Partitions}
	publisher, err := kafka.NewPublisher(ctx, s.options.Kafka, topic, s.options.DeliveryTimeout)
	if err != nil {
		return nil, err
	}
	s.closer(publisher.Close)
	return publisher, nil
}

// drain is the relay that publishes what was kept.
func (s *IntakeServer) drain(ctx context.Context) (run.Task, error) {
	publisher, err := s.publisher(ctx)
	if err != nil {
		return run.Task{}, err
	}
	outbox, err := s.intake.Outbox()
	if err != nil {
		return run.Task{}, err
	}
	log := s.options.Log
	r, err := relay.New(relay.Options{
		Outbox: outbox, Publisher: publisher, Holder: s.options.Holder, Partitions: s.options.Applied.Namespace.Spec.Source.Partitions,
		Now: time.Now, Random: rand.Int64N, DeliveryTimeout: s.options.DeliveryTimeout, LeaseTTL: 2 * s.options.DeliveryTimeout,
		Idle: drainIdle, Standby: drainStandby,
		Stopped: func(stop relay.Stop) {
			log.Error("partition stopped", "stage", IntakePublish, "partition", stop.Partition, "reason", stop.Reason, "detail", stop.Detail)
		},
	})
	if err != nil {
		return run.Task{}, err
	}
	turns := turns{
		step: func(ctx context.Context) (bool, time.Time, error) {
			return r.StepAlone(ctx, func(e *relay.PartitionError) {
				log.Warn("publication failed", "partition", e.Partition, "error", e.Err)
			})
		},
		busy:   func() bool { kept, _ := s.intake.Waiting(); return kept > 0 },
		behind: outbox.Behind,
		pause:  drainPause / time.Duration(s.options.Applied.Namespace.Spec.Source.Partitions),
	}
	return run.Task{
		Stage: IntakePublish, Step: turns.take, Status: func() []run.Status { return publications(r.Status(), outbox.StopDetail) },
		Covers: func(int32) bool { return true },
		Resume: func(partition int32) {
			outbox.Resume(partition)
			r.Resume(partition)
		},
	}, nil
}

const (
	// IntakePublish is the drain's name in status and log.
	IntakePublish = "intake-publish"
	// drainIdle and drainStandby are its pauses where nothing is pending, and without the lease.
	drainIdle    = 20 * time.Millisecond
	drainStandby = 100 * time.Millisecond
	// drainPause is what its pauses of one round through all partitions add up to while requests wait.
	drainPause = 500 * time.Millisecond
)

// targets connects to the topics for decisions, and to the one for statuses.
func (s *IntakeServer) targets(ctx context.Context) (targets map[string]intake.Target, status *intake.Target, err error) {
	if len(s.options.Targets) == 0 && s.options.StatusTopic == "" {
		return nil, nil, nil
	}
	admin, err := kafka.NewAdmin(s.options.Kafka)
	if err != nil {
		return nil, nil, err
	}
	defer admin.Close()
	targets = map[string]intake.Target{}
	for _, name := range s.options.Targets {
		if targets[name], err = s.target(ctx, admin, name, "decisions"); err != nil {
			return nil, nil, err
		}
	}
	name := s.options.StatusTopic
	if name == "" {
		return targets, nil, nil
	}
	if _, taken := targets[name]; taken {
		return nil, nil, fmt.Errorf("topic %s cannot receive statuses: it receives decisions", name)
	}
	target, err := s.target(ctx, admin, name, "statuses")
	return targets, &target, err
}

// target connects to a topic that exists and is not the namespace's own.
func (s *IntakeServer) target(ctx context.Context, admin *kafka.Admin, name, what string) (intake.Target, error) {
	spec := s.options.Applied.Namespace.Spec
	if name == spec.Source.Topic || name == spec.Output.Topic {
		return intake.Target{}, fmt.Errorf("topic %s cannot receive %s: it is the namespace's own", name, what)
	}
	info, err := admin.Describe(ctx, name)
	if err != nil {
		return intake.Target{}, err
	}
	if info == nil {
		return intake.Target{}, fmt.Errorf("topic %s for %s does not exist: create it first", name, what)
	}
	publisher, err := kafka.NewPublisher(ctx, s.options.Kafka,
		kafka.Topic{Name: name, ID: info.ID, Partitions: info.Partitions}, s.options.DeliveryTimeout)
	if err != nil {
		return intake.Target{}, err
	}
	s.closer(publisher.Close)
	return intake.Target{Publisher: publisher, Partitions: info.Partitions}, nil
}

// Addr is where it listens, as host:port.
func (s *IntakeServer) Addr() string { return s.listener.Addr().String() }

// Status returns the state of every task of this process.
func (s *IntakeServer) Status() []run.Status { return append(s.lease.Status(), s.work.Status()...) }

// Run serves until ctx ends: then it takes no more connections, finishes the requests it has, publishes what they left
// and gives the writer lease up, for at most half a minute; what is not published by then the next intake publishes. The
// error is that of a listener which failed.
func (s *IntakeServer) Run(ctx context.Context) error {
	defer s.Close()
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	leasing, stopLease := context.WithCancel(working)
	defer stopLease()
	var work, lease sync.WaitGroup
	work.Go(func() { s.work.Run(working) })
	watched := s.requests.follow(working, s.work)
	defer func() { <-watched }()
	lease.Go(func() { s.lease.Run(leasing) })
	served := make(chan error, 1)
	go func() { served <- s.serve() }()
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-served:
	}
	ending, cancel := context.WithTimeout(working, intakeShutdown)
	defer cancel()
	if err := s.http.Shutdown(ending); err != nil {
		s.options.Log.Warn("requests are cut off", "error", err)
	}
	stopLease()
	lease.Wait()
	if err := s.intake.Close(ending); err != nil {
		s.options.Log.Warn("the writer lease is not given up; it will expire", "error", err)
	}
	stopWork()
	work.Wait()
	return failure
}

// serve answers until the server is shut down, which is no error.
func (s *IntakeServer) serve() error {
	var err error
	if s.options.TLS != nil {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// Close releases connections. Run calls it; an IntakeServer that never ran needs it.
func (s *IntakeServer) Close() {
	if s.listener != nil {
		_ = s.listener.Close() // it may be closed already
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}
