// Package rebuild is `amendsctl rebuild`: the state of an applied namespace computed anew, from the whole history, in a
// fresh namespace (S11, R26).
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/stages/postgres"
)

// The modes of a rebuild.
const (
	modeStream = "stream"
	modeBulk   = "bulk"
)

// defaultTimeout is how long a rebuild may make no progress.
const defaultTimeout = time.Minute

// options are what one invocation asks for.
type options struct {
	from, into, mode, snapshot, dataset, outputTopic, manifest string
	experiment, json                                           bool
	timeout                                                    time.Duration
	parallel                                                   int
}

// New returns the rebuild command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild -n OLD --into NEW",
		Short: "Compute a namespace's state anew, from its whole history, into a fresh namespace",
		Long: "rebuild applies a new namespace over the same source topic and the same declared configuration, with an output topic,\n" +
			"a schema of state and a view of its own, and fills its state from the whole history up to H, the end of the source as\n" +
			"it is when the rebuild begins. The old namespace and its view are not touched.\n\n" +
			"--mode stream runs the worker over the history. --mode bulk computes everything at once with the columnar engine and\n" +
			"loads it. Either way `amendsctl run -n NEW` then publishes, fills the view and goes on with newer records, `verify`\n" +
			"judges the new namespace, and `compare` holds the two against each other.\n\n" +
			"Interrupted or killed, the new namespace is unfinished and refused by everything else, until the same rebuild is run\n" +
			"again, which goes on, or the namespace is deleted. What cannot be rebuilt is refused with exit code 5 before anything\n" +
			"is touched: lost or recreated history, another configuration, a new name that is taken.",
		Example: "  amendsctl rebuild -n demo --into demo2\n" +
			"  amendsctl rebuild -n demo --into demo2 --mode bulk --from history\n" +
			"  amendsctl rebuild -n demo --into demo-low --experiment -f demo-low.yaml",
		Args: cobra.NoArgs,
	}
	servers := connect.Register(cmd)
	var o options
	o.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		o.json = output == "json"
		connections, err := servers.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, connections, o)
	}
	return cmd
}

// add declares the flags.
func (o *options) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.from, "namespace", "n", "", "applied namespace to rebuild (required)")
	f.StringVar(&o.into, "into", "", "name of the new namespace (required)")
	f.StringVar(&o.mode, "mode", modeStream, "how its state is filled: stream or bulk")
	f.StringVar(&o.snapshot, "from", "", "with --mode bulk: folder of an exported snapshot to read instead of the source topic; H is its end")
	f.StringVar(&o.dataset, "dataset", "", "with --mode bulk: folder in which the derived-state dataset is kept, or found again (default: a temporary one)")
	f.StringVar(&o.outputTopic, "output-topic", "", "output topic of the new namespace (default NEW.outputs)")
	f.StringVarP(&o.manifest, "file", "f", "", "manifest of the new namespace, instead of the old one's configuration; - for stdin")
	f.BoolVar(&o.experiment, "experiment", false, "let the manifest's business configuration be another one; namespace, report and comparison say so")
	f.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long the worker may make no progress")
	f.IntVar(&o.parallel, "parallel", 0, "with --mode bulk: partitions derived at a time, and connections that load (default: one for each processor)")
}

// check finds wrong combinations.
func (o *options) check() error {
	switch {
	case o.from == "":
		return errors.New("name the namespace to rebuild with -n")
	case o.into == "":
		return errors.New("name the new namespace with --into")
	case o.from == o.into:
		return fmt.Errorf("--into %s is the namespace to rebuild; choose another name", o.into)
	case o.mode != modeStream && o.mode != modeBulk:
		return fmt.Errorf("--mode %s: want stream or bulk", o.mode)
	case o.mode == modeStream && (o.snapshot != "" || o.dataset != ""):
		return errors.New("--from and --dataset need --mode bulk: a worker reads the source topic")
	case o.experiment && o.manifest == "":
		return errors.New("--experiment needs the other configuration: give its manifest with -f")
	case o.manifest != "" && o.outputTopic != "":
		return errors.New("--output-topic and -f both name the output topic; give one")
	case o.timeout <= 0:
		return fmt.Errorf("--timeout %s is not positive", o.timeout)
	case o.parallel < 0:
		return fmt.Errorf("--parallel %d: want 1 or more", o.parallel)
	}
	return nil
}

// run connects, rebuilds and prints the result.
func run(ctx context.Context, a *app.App, c connect.Connections, o options) error {
	j, closeAll, err := open(ctx, a, c, o)
	if err != nil {
		return err
	}
	defer closeAll()
	result, err := j.run(ctx)
	if err != nil {
		return coded(ctx, o, err)
	}
	return write(a.Stdout, result, o.json)
}

// job is one rebuild with its servers.
type job struct {
	options
	app         *app.App
	connections connect.Connections
	catalog     *postgres.Catalog
	apply       apply.Deps
	// histories is the oracle's own consumer.
	histories *source.Client
	code      string
	progress  func(format string, args ...any)
}

// open connects to everything that a rebuild needs. The caller calls the returned function when done.
func open(ctx context.Context, a *app.App, c connect.Connections, o options) (*job, func(), error) {
	deps, closeDeps, err := apply.Open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	pool, err := c.Catalog(ctx)
	if err != nil {
		closeDeps()
		return nil, nil, err
	}
	brokers := c.JudgeBrokers()
	brokers.Stall = o.timeout
	histories, err := source.Open(brokers)
	if err != nil {
		pool.Close()
		closeDeps()
		return nil, nil, err
	}
	j := &job{options: o, app: a, connections: c, catalog: postgres.NewCatalog(pool), apply: deps, histories: histories,
		code: version.Current().String(), progress: func(string, ...any) {}}
	if a.StderrTTY {
		// Progress that cannot be shown changes nothing.
		j.progress = func(format string, args ...any) { _, _ = fmt.Fprintf(a.Stderr, format+"\n", args...) }
	}
	return j, func() { histories.Close(); pool.Close(); closeDeps() }, nil
}

// Result is what a rebuild did.
type Result struct {
	Namespace string `json:"namespace"`
	From      string `json:"from"`
	Mode      string `json:"mode"`
	// Experiment says that Namespace computes the history of ExperimentOf under another business configuration (R02).
	Experiment   bool   `json:"experiment"`
	ExperimentOf string `json:"experimentOf,omitempty"`
	// Resumed says that an interrupted rebuild was finished.
	Resumed bool `json:"resumed"`
	// SourceTopicID and Through are the history: from offset 0 to H, by partition.
	SourceTopicID string  `json:"sourceTopicId"`
	Through       []int64 `json:"through"`
	OutputTopic   string  `json:"outputTopic"`
	BuiltBy       string  `json:"builtBy"`
	// Accepted, Rejected and Rows count records, and rows of the dataset; with mode bulk alone.
	Accepted int64 `json:"accepted,omitempty"`
	Rejected int64 `json:"rejected,omitempty"`
	Rows     int64 `json:"rows,omitempty"`
	// Timings are seconds by phase: derive and load, or stream; where the first two run at the same time, whole is how long
	// both took.
	Timings map[string]Seconds `json:"timings"`
}

// Seconds is a duration that prints as seconds with three decimals.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	d := time.Duration(s)
	return fmt.Appendf(nil, "%d.%03d", d/time.Second, d%time.Second/time.Millisecond), nil
}

// write prints the result.
func write(w io.Writer, r *Result, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	return writeText(w, r)
}
