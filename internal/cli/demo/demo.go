// Package demo is `amendsctl demo`: the whole of amends on real parts in one command, without anything to set up.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/manifests"
	"amends.dev/amends/manifests/examples"
	"amends.dev/amends/oracle/report"
	judge "amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// options are the verb's flags.
type options struct {
	folder                   string
	records                  int64
	seed                     uint64
	elsewhere                bool // the folder is not the default one
	keepRunning, reset       bool
	download                 bool
	brokerPort, postgresPort int
	json                     bool
}

// New returns the verb.
func New(a *app.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole of amends on a private Postgres and an embedded broker",
		Long: "demo starts a private Postgres and an embedded broker in a local folder, applies the example manifest, publishes\n" +
			"a history with amendments, cancellations and backdated transactions, runs all stages, verifies the balances\n" +
			"against an independent recomputation, and prints the verdict with one amendment as it went through.\n\n" +
			"The folder keeps the data, also of an interrupted demo: the next one goes on from there, --reset starts anew.",
		Example: "  amendsctl demo\n  amendsctl demo --keep-running\n  amendsctl demo --reset --records 100000",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.folder, "data", filepath.Join(".amends", "demo"), "folder for the demo's data")
	f.Int64Var(&o.records, "records", 20_000, "records to generate")
	f.Uint64Var(&o.seed, "seed", 1, "history to generate; the same seed gives the same records")
	f.BoolVar(&o.keepRunning, "keep-running", false, "keep servers and stages running until interrupted")
	f.BoolVar(&o.reset, "reset", false, "remove the data of earlier demos first")
	f.BoolVar(&o.download, "download-postgres", false, "fetch a Postgres into the folder where none is installed")
	f.IntVar(&o.brokerPort, "broker-port", 0, "port of the embedded broker, 0 for a free one")
	f.IntVar(&o.postgresPort, "postgres-port", 0, "port of the private Postgres, 0 for a free one")
	connections := connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return err
		}
		o.json, o.elsewhere = output == "json", cmd.Flags().Changed("data")
		given, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), a, given)
	}
	return cmd
}

// check finds values that no demo can run with.
func (o *options) check() error {
	if o.folder == "" {
		return errors.New("--data: want a folder")
	}
	if o.records < 1 {
		return fmt.Errorf("--records %d: want at least 1", o.records)
	}
	for _, port := range []struct {
		flag  string
		value int
	}{{"--broker-port", o.brokerPort}, {"--postgres-port", o.postgresPort}} {
		if port.value < 0 || port.value > 65535 {
			return fmt.Errorf("%s %d: want 1 to 65535, or 0 for a free one", port.flag, port.value)
		}
	}
	return nil
}

// run brings the servers up, shows the demo and takes them down again.
func (o *options) run(ctx context.Context, a *app.App, given connect.Connections) (err error) {
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	if o.reset {
		if err := reset(ctx, o.folder); err != nil {
			return err
		}
	}
	if err := prepare(o.folder); err != nil {
		return err
	}
	show := newProgress(a, o.json)
	show.say("starting servers in %s", o.folder)
	s, err := start(ctx, o, given, show)
	if err != nil {
		return o.interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	d := &demo{app: a, options: o, connections: s.connections, progress: show}
	err = d.show(ctx)
	show.clear()
	return o.interrupted(ctx, err)
}

// interrupted says with an error that comes from an interruption what became of the data. A verdict stays one.
func (o *options) interrupted(ctx context.Context, err error) error {
	var coded *exit.Coded
	if err == nil || ctx.Err() == nil || errors.As(err, &coded) {
		return err
	}
	done := err.Error()
	if errors.Is(err, context.Canceled) {
		done = "the demo was not done"
	}
	return fmt.Errorf("%s; what was published is kept in %s: the next demo goes on from there, --reset starts anew", done, o.folder)
}

// demo is one run on servers that are up.
type demo struct {
	app         *app.App
	options     *options
	connections connect.Connections
	progress    *progress

	applied   *postgres.Applied
	stages    *pipeline.Pipeline
	generated *pipeline.Generated
	published int64 // records in the source topic
	report    *report.Report
	amendment *amendment
}

// show applies, runs, generates, verifies and prints.
func (d *demo) show(ctx context.Context) error {
	pool, err := d.apply(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	log, closeLog, err := d.openLog()
	if err != nil {
		return err
	}
	defer closeLog()
	holder, err := pipeline.NewHolder()
	if err != nil {
		return err
	}
	d.stages, err = pipeline.New(ctx, pipeline.Options{
		Applied: d.applied, StateURL: d.connections.StateURL(), ViewURL: d.connections.ViewURL(),
		Kafka: d.connections.Kafka, Holder: holder, Log: log,
	})
	if err != nil {
		return connect.Refuse(err)
	}
	running, stopStages := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.stages.Run(running)
	}()
	defer func() { stopStages(); <-done }()
	if err := d.generate(ctx, pool, holder); err != nil {
		return err
	}
	if err := d.verify(ctx); err != nil {
		return err
	}
	if err := d.readAmendment(ctx); err != nil {
		return fmt.Errorf("read the amendment from the output topic: %w", err)
	}
	d.progress.clear()
	if err := d.print(); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	if d.options.keepRunning && ctx.Err() == nil {
		d.progress.say("running; Ctrl-C stops it and keeps the data")
		<-ctx.Done()
		return exit.Quiet(d.report.ExitCode)
	}
	return exit.Quiet(d.report.ExitCode)
}

// apply creates topics and schemas of the example manifest, or finds them, and opens the catalog.
func (d *demo) apply(ctx context.Context) (*postgres.Pool, error) {
	ns, problems := manifests.Parse(examples.DemoFile, examples.Demo, nil)
	if err := problems.Err(); err != nil {
		return nil, exit.With(exit.ManifestInvalid, err)
	}
	deps, closeDeps, err := apply.Open(ctx, d.connections)
	if err != nil {
		return nil, err
	}
	defer closeDeps()
	plan, err := apply.Do(ctx, deps, ns)
	if errors.Is(err, apply.ErrRefused) {
		return nil, exit.With(exit.Refused, err)
	}
	if err != nil {
		return nil, connect.Refuse(err)
	}
	d.progress.say("namespace %s: %d created, %d unchanged", ns.Name, plan.ToCreate, plan.Unchanged)
	pool, err := d.connections.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if d.applied, err = postgres.NewCatalog(pool).Load(ctx, ns.Name); err != nil {
		pool.Close()
		return nil, connect.Refuse(err)
	}
	return pool, nil
}

// logFile is where the log of the stages is kept in the folder.
const logFile = "stages.log"

// openLog keeps what the stages have to say in the folder.
func (d *demo) openLog() (*slog.Logger, func(), error) {
	file, err := os.OpenFile(filepath.Join(d.options.folder, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log of the stages: %w", err)
	}
	return slog.New(slog.NewTextHandler(file, nil)), func() { _ = file.Close() }, nil
}

// generate publishes the history, unless an earlier demo did.
func (d *demo) generate(ctx context.Context, pool *postgres.Pool, holder string) error {
	ends, err := d.ends(ctx, d.applied.SourceTopic)
	if err != nil {
		return err
	}
	if kept := sum(ends); kept > 0 {
		d.progress.say("the source topic keeps the %d records of an earlier demo; --reset starts anew", kept)
		d.published = kept
		return nil
	}
	o := generate.Defaults()
	o.Count, o.Seed = d.options.records, d.options.seed
	generated, err := pipeline.Generate(ctx, pipeline.Generation{
		Applied: d.applied, Catalog: pool, Kafka: d.connections.Kafka, Holder: holder, Options: o,
		Progress: func(published, total int64) { d.progress.stages(published, total, d.stages.Status()) },
	})
	if ctx.Err() != nil {
		return fmt.Errorf("published %d of %d records", generated.Counts.Total(), o.Count)
	}
	if err != nil {
		return fmt.Errorf("published %d of %d records: %w; is there room left in %s? what was published is kept, the next demo goes on from there",
			generated.Counts.Total(), o.Count, err, d.options.folder)
	}
	d.generated, d.published = &generated, o.Count
	return nil
}

// timeout bounds each phase of the verification. All of the history may still be to be drained: on a slow machine the
// stages take a thousand records a second.
func (d *demo) timeout() time.Duration {
	return judge.DefaultTimeout + time.Duration(min(d.published, 1_000_000_000))*time.Millisecond
}

// reportFile and pageFile are where the report is kept in the folder, for programs and for people.
const (
	reportFile = "report.json"
	pageFile   = "report.html"
)

// verify runs verify --quiesce and keeps the report in the folder.
func (d *demo) verify(ctx context.Context) error {
	deps, done, err := verify.Connect(ctx, d.connections)
	if err != nil {
		return err
	}
	defer done()
	deps.Progress = func(e judge.Event) { d.progress.phase(string(e.Phase), e.Detail, d.stages.Status()) }
	d.report, err = judge.Run(ctx, deps, judge.Options{
		Namespace: d.applied.Name, Engine: judge.EngineAuto, Timeout: d.timeout(), Limit: judge.DefaultLimit,
		Code: version.Current().String(),
	})
	if err != nil {
		return verify.Coded(err)
	}
	verify.Keep(ctx, deps, d.report)
	return errors.Join(d.write(reportFile, report.FormatJSON), d.write(pageFile, report.FormatHTML))
}

// write writes the report to a file of the folder.
func (d *demo) write(name string, format report.Format) error {
	file, err := os.Create(filepath.Join(d.options.folder, name))
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return errors.Join(report.Render(file, d.report, format, judge.DefaultLimit), file.Close())
}

// readAmendment finds SC02 in the output topic.
func (d *demo) readAmendment(ctx context.Context) error {
	ns := d.applied.Namespace
	o := generate.Defaults()
	o.Count = max(d.options.records, 4)
	stream, err := generate.NewStream(ns, o)
	if err != nil {
		return err
	}
	story, told := stream.Story()
	if !told || d.report.ExitCode != exit.OK {
		return nil
	}
	output := ns.Spec.Output
	opener := kafka.NewOpener(d.connections.Kafka,
		kafka.Topic{Name: output.Topic, ID: d.applied.OutputTopicID, Partitions: output.Partitions})
	d.amendment, err = readAmendment(ctx, ns, story.KeyID, opener, d.report.Output.End)
	return err
}

// ends returns a topic's high watermarks.
func (d *demo) ends(ctx context.Context, topic string) ([]int64, error) {
	admin, err := d.connections.Admin(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	info, err := admin.Describe(ctx, topic)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, fmt.Errorf("topic %s does not exist", topic)
	}
	return info.Ends, nil
}

// sum adds offsets up.
func sum(offsets []int64) int64 {
	total := int64(0)
	for _, n := range offsets {
		total += n
	}
	return total
}
