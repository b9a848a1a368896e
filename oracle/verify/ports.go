// Package verify orchestrates a verification with a stopped-input boundary (S10): it observes the world through ports,
// lets the boundary machine decide, has an engine recompute the source history, compares, and fills one report. It
// never reads the worker's own results (R23).
package verify

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

var (
	// ErrNotApplied is wrapped where the named namespace, or any, is not in the catalog.
	ErrNotApplied = errors.New("not applied")
	// ErrAmbiguousName is wrapped where no name was given and more than one namespace is applied.
	ErrAmbiguousName = errors.New("more than one namespace is applied")
	// ErrDenied is wrapped where the database role lacks a right.
	ErrDenied = errors.New("permission denied")
	// ErrRefused is wrapped by errors that mean: this namespace cannot be judged in this way (exit code 5).
	ErrRefused = errors.New("refused")
	// ErrScope is wrapped where a key of the scope is not configured (exit code 2).
	ErrScope = errors.New("not in the namespace")
)

// Identity is what the catalog recorded when the namespace was applied.
type Identity struct {
	Name string
	// Digest and BusinessDigest are the two configuration digests (R02).
	Digest, BusinessDigest       string
	SourceTopicID, OutputTopicID string
	// StateSchema and ViewSchema are the schemas of processing state and view.
	StateSchema, ViewSchema string
	// BuiltBy is "stream", or begins with the name of the engine that built the state (R26).
	BuiltBy string
	// Unfinished says what of the namespace is not finished yet, empty where it may be judged (S11).
	Unfinished string
	// ExperimentOf is the namespace whose history this one computes under another business configuration, or empty (R02).
	ExperimentOf string
}

// Applied is an applied namespace with its configuration.
type Applied struct {
	Identity
	Namespace *manifests.Namespace
}

// Progress is what worker and relay of a namespace have durably done. Vectors are indexed by source partition.
type Progress struct {
	Worker, OutboxNext, SentThrough []int64
	// Handled counts the records that the worker has decided; nil where that is not known.
	Handled []int64
	Stops   []boundary.Stop
}

// State is the database of catalog and processing state. Only RequestStop writes.
type State interface {
	// Applied finds a namespace; the empty name means the only one there is. Errors wrap ErrNotApplied,
	// ErrAmbiguousName, manifests.ErrSemanticsVersion or ErrRefused (another layout, lost state) where these apply.
	Applied(ctx context.Context, name string) (*Applied, error)
	// Identity reads the catalog row again.
	Identity(ctx context.Context, name string) (Identity, error)
	// Lease reads the writer lease of a source topic.
	Lease(ctx context.Context, sourceTopicID string) (boundary.Lease, error)
	// RequestStop asks the holder of the lease, at the given term, to stop. Errors wrap ErrDenied where this role may
	// not.
	RequestStop(ctx context.Context, sourceTopicID string, term int64) error
	// Progress reads frontiers and drain in one snapshot.
	Progress(ctx context.Context, a *Applied) (Progress, error)
	// Ambiguous reads the conflicts that the worker now holds to block keys, sorted.
	Ambiguous(ctx context.Context, a *Applied) ([]projection.Conflict, error)
	// Evidence calls read with one stable snapshot of the evidence.
	Evidence(ctx context.Context, a *Applied, read func(Evidence) error) error
}

// Writers keeps the writers of a source topic out for as long as a run lasts, and knows what intake has still to write
// (R22). It needs the verifier role; errors wrap ErrDenied where this one may not.
type Writers interface {
	// Acquire takes the lease under a new term where it is free, expired or the holder's already; where another one's runs it
	// does nothing.
	Acquire(ctx context.Context, sourceTopicID, holder string, ttl time.Duration) error
	// Renew extends a lease that is still the holder's.
	Renew(ctx context.Context, sourceTopicID, holder string, ttl time.Duration) error
	// Release gives a lease up that is still the holder's.
	Release(ctx context.Context, sourceTopicID, holder string) error
	// Pending counts the effects of intake that are not in the source topic yet; nil where the namespace keeps none.
	Pending(ctx context.Context, a *Applied) (*boundary.Pending, error)
}

// Evidence is a stable snapshot of durable evidence. Its sequences are read one after the other.
type Evidence interface {
	// Quarantine is sorted by partition, offset.
	Quarantine(ctx context.Context) iter.Seq2[compare.Rejected, error]
	// Conflicts is sorted by the bytes of item, location, txn_id, then revision.
	Conflicts(ctx context.Context) iter.Seq2[projection.Conflict, error]
}

// Contents are what Evidence may show of a conflict beside its row (S4).
type Contents interface {
	// Payloads are the distinct payloads kept of each of the given conflicts, in any order. The one that the identity's
	// authority holds, the first seen at its highest revision, is not among them: authority is not read (R23).
	Payloads(ctx context.Context, of []projection.Conflict) iter.Seq2[compare.Payload, error]
}

// ViewIdentity is what a view's own schema says it shows.
type ViewIdentity struct {
	Name, Digest, OutputTopic, OutputTopicID string
}

// View is the database of the view.
type View interface {
	// ViewIdentity reads what the view was set up for. Errors wrap ErrRefused where it has another layout.
	ViewIdentity(ctx context.Context, a *Applied) (ViewIdentity, error)
	// ViewProgress reads the exclusive frontiers by output partition, and persisted protocol violations.
	ViewProgress(ctx context.Context, a *Applied) ([]int64, []boundary.Stop, error)
	// Snapshot calls read with one stable snapshot of what users read.
	Snapshot(ctx context.Context, a *Applied, read func(ViewSnapshot) error) error
}

// ViewSnapshot is a stable snapshot of a view (S10 step 4). Its sequences are read one after the other; they are
// sorted by the bytes of item, location, then day.
type ViewSnapshot interface {
	// Frontiers are the view's frontiers in this very snapshot.
	Frontiers(ctx context.Context) ([]int64, error)
	// Balances are the present balance rows, with exact closes.
	Balances(ctx context.Context) iter.Seq2[projection.Balance, error]
	// Alerts are the present alert rows.
	Alerts(ctx context.Context) iter.Seq2[projection.Alert, error]
	// Statuses are the trust statuses of the keys that have one, sorted by the bytes of item, then location.
	Statuses(ctx context.Context) iter.Seq2[projection.Status, error]
}

// Unordered is what a ViewSnapshot may offer beside its sorted sequences: the same facts as its database has them, which then
// need not be sorted by name.
type Unordered interface {
	// AllBalances are the facts of Balances in any order; keys have the numbers of Spec.StockKeys.
	AllBalances(ctx context.Context) iter.Seq2[compare.Fact, error]
	// AllAlerts are the facts of Alerts in any order.
	AllAlerts(ctx context.Context) iter.Seq2[compare.Fact, error]
}

// Internals are what a ViewSnapshot may show of a view's inside beside what users read (S7).
type Internals interface {
	// Keys are the stock keys that the view can name, sorted by the bytes of item, then location.
	Keys(ctx context.Context) iter.Seq2[compare.Key, error]
	// Guards counts the rows that have a guard, and gives those whose guard cannot be right, in any order. A guard
	// that is wrong in two ways counts as two.
	Guards(ctx context.Context) (rows int64, damaged iter.Seq2[compare.Guard, error], err error)
}

// Topics is the broker, seen by a consumer of the oracle's own.
type Topics interface {
	// Describe returns nil without an error where the topic does not exist.
	Describe(ctx context.Context, topic string) (*boundary.Topic, error)
	// History reads a range under read_committed; see source.Client.
	History(r boundary.Range) engine.History
}

// Snapshot is an exported history that is judged in place of the topic (R22).
type Snapshot struct {
	// Name is how reports call it.
	Name string
	// TopicID, Starts and Ends are those of the history that it holds; they must be the boundary's.
	TopicID      string
	Starts, Ends []int64
	// History reads the raw records of a part of it, as Topics.History does, and of its files those that hold one. Its errors
	// name the damaged file.
	History func(r boundary.Range) engine.History
	// Records, where not nil, has an engine compute from all its raw records, which it reads by itself, in any order and within
	// its memory; it counts them by partition. It returns nil without an error where the engine takes a History only.
	Records func(ctx context.Context, judge engine.Engine, ns *manifests.Namespace) (*projection.Projection, []int64, error)
	// Typed, where not nil, are its typed columns, by which an engine that takes them judges.
	Typed Typed
}

// Typed is a history as typed columns: what a decoder made of its records. Its errors name the damaged file.
type Typed interface {
	// Compute has an engine compute the whole history, and counts its records by partition. It returns nil without an error
	// where the engine takes records only, or the columns hold for another configuration.
	Compute(ctx context.Context, judge engine.Engine, ns *manifests.Namespace) (*projection.Projection, []int64, error)
	// Transactions calls visit for each accepted record of the given keys, in offset order within a partition.
	Transactions(ctx context.Context, of map[compare.Key]bool, visit func(partition int32, offset int64, t engine.Transaction)) error
}

// Spool keeps a history that is too large for memory on disk while it is judged.
type Spool interface {
	// Keep copies a history of a range, and returns it as a snapshot with what removes it; nil without an error where the
	// engine has memory for it, or takes records only.
	Keep(ctx context.Context, judge engine.Engine, a *Applied, r boundary.Range, history engine.History) (*Snapshot, func() error, error)
}

// Clock is the passage of time.
type Clock interface {
	// Now is the present instant.
	Now() time.Time
	// Sleep returns early, with the context's error, when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Alarms is a Clock that also wakes: with it a comparison is bounded where nothing arrives any more. A clock without it, as
// that of simulated time, bounds single questions only.
type Alarms interface {
	// AfterFunc calls f, in a goroutine of its own, once d has passed.
	AfterFunc(d time.Duration, f func()) Alarm
}

// Alarm is one call to come; *time.Timer is one.
type Alarm interface {
	// Reset puts it off to d from now on, and reports whether it was still to come.
	Reset(d time.Duration) bool
	// Stop calls it off, and reports whether it was still to come.
	Stop() bool
}

// Deps are the ports of a run.
type Deps struct {
	State  State
	View   View
	Topics Topics
	// Writers, where not nil, excludes the writers during the run; otherwise the lease is only looked at.
	Writers Writers
	// Holder is this run's name in the writer lease, which no other process has; empty: the lease is only looked at.
	Holder string
	// Snapshot, where not nil, is judged in place of the source topic.
	Snapshot *Snapshot
	// Spool, where not nil, keeps large histories of the source topic on disk.
	Spool Spool
	// Engines are tried in this order where the engine is chosen automatically.
	Engines []engine.Engine
	Clock   Clock
	// Progress, where not nil, is told what the run is doing. It is called by the goroutine of Run.
	Progress func(Event)
}

// Event is one step of a run.
type Event struct {
	Phase boundary.Phase
	// Elapsed is the time since the run began.
	Elapsed time.Duration
	// Detail is one line for people.
	Detail string
}

// Defaults of Options.
const (
	DefaultTimeout = 60 * time.Second
	DefaultPoll    = 200 * time.Millisecond
	DefaultSettle  = 500 * time.Millisecond
	DefaultLimit   = 100
	// DefaultRejections is some 2 MB of a report.
	DefaultRejections = 10_000
	// LeaseTTL is how long the writer lease is held at a time: a run that is killed keeps the writers out for as long.
	LeaseTTL = 15 * time.Second
	// EngineAuto picks the first engine that may judge what built the state (R26).
	EngineAuto = "auto"
)

// Options are the choices of a run; zero values stand for the defaults.
type Options struct {
	// Namespace names an applied namespace; empty means the only one there is.
	Namespace string
	// Manifest, where not nil, must have the digest that was applied.
	Manifest *manifests.Namespace
	// Engine is the name of an engine, or EngineAuto.
	Engine string
	// Timeout bounds the waiting of each phase (S10); Poll is the time between two looks; Settle is how long the
	// source's ends must stand still.
	Timeout, Poll, Settle time.Duration
	// Limit bounds the listed differences of each family; counts are always full. Negative: list all.
	Limit int
	// Rejections bounds the listed rejections, which are held in memory; counts are always full. Negative: list all.
	Rejections int
	// Code is the version of the running program.
	Code string
	// WritersStopped is the operator's statement that no writer runs: it stands in for a lease that cannot be read (R22).
	WritersStopped bool
	// Scope are keys that the report shows apart; it changes no verdict (S10).
	Scope []string
}

// withDefaults fills zero values in.
func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{{&o.Timeout, DefaultTimeout}, {&o.Poll, DefaultPoll}, {&o.Settle, DefaultSettle}} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	if o.Engine == "" {
		o.Engine = EngineAuto
	}
	switch {
	case o.Limit == 0:
		o.Limit = DefaultLimit
	case o.Limit < 0:
		o.Limit = 0
	}
	switch {
	case o.Rejections == 0:
		o.Rejections = DefaultRejections
	case o.Rejections < 0:
		o.Rejections = math.MaxInt
	}
	return o
}
