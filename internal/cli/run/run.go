// Package run is `amendsctl run`: all or named stages of an applied namespace in one process.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/run"
)

// statusInterval is how often the log tells how far the stages are.
const statusInterval = 30 * time.Second

// options are the verb's flags.
type options struct {
	app       *app.App
	selector  *connect.Selector
	takeOver  bool
	maxBatch  int
	logFormat string
	logLevel  string
}

// New returns the verb.
func New(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:   "run [worker|relay|view]…",
		Short: "Run all or named stages of a namespace in one process",
		Long: "run steps the worker, the relay and the view of an applied namespace, or the stages named, until it is\n" +
			"interrupted (SIGINT, SIGTERM). It then finishes the units of work it is in and gives its leases up. Any number of\n" +
			"processes may run the same stages: workers share the partitions through the consumer group and are fenced by\n" +
			"the database; one relay publishes and the others stand by.",
		ValidArgs: pipeline.All(),
		Args:      cobra.OnlyValidArgs,
	}
	cmd.AddCommand(newIntake(a))
	connections := connect.Register(cmd)
	o.selector = connect.RegisterSelector(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.takeOver, "take-over", false, "acquire partitions although their recorded group generation is higher: the consumer group was recreated")
	f.IntVar(&o.maxBatch, "max-batch", 0, "records in one unit of work of the worker (default 8000)")
	f.StringVar(&o.logFormat, "log-format", "text", "log format: text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "least level logged: debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, err := newLog(a.Stderr, o.logFormat, o.logLevel)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		if o.maxBatch < 0 {
			return exit.With(exit.Usage, fmt.Errorf("--max-batch %d: want 1 or more", o.maxBatch))
		}
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), c, unique(args), log)
	}
	return cmd
}

// unique drops repeated stage names.
func unique(stages []string) []string {
	stages = slices.Clone(stages)
	slices.Sort(stages)
	return slices.Compact(stages)
}

// newLog makes the log of a format and level.
func newLog(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %s: want debug, info, warn or error", level)
	}
	handler := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, handler)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, handler)), nil
	}
	return nil, fmt.Errorf("--log-format %s: want text or json", format)
}

// run loads the namespace and steps its stages until ctx ends, which is how run is meant to end: exit code 0.
func (o *options) run(ctx context.Context, c connect.Connections, stages []string, log *slog.Logger) error {
	applied, err := o.load(ctx, c, stages)
	if err != nil {
		return err
	}
	holder, err := pipeline.NewHolder()
	if err != nil {
		return err
	}
	p, err := pipeline.New(ctx, pipeline.Options{
		Applied: applied, StateURL: c.StateURL(), ViewURL: c.ViewURL(), Kafka: c.Kafka, Stages: stages, Holder: holder,
		TakeOver: o.takeOver, MaxBatch: o.maxBatch, Log: log,
	})
	if err != nil {
		return refuse(err)
	}
	log.Info("running", "namespace", applied.Name, "stages", strings.Join(orAll(stages), ","), "holder", holder)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	report(log, p, done)
	log.Info("stopped", "namespace", applied.Name)
	return nil
}

// load checks that the settings are complete and the servers answer, and reads the namespace from the catalog.
func (o *options) load(ctx context.Context, c connect.Connections, stages []string) (*postgres.Applied, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return nil, err
	}
	admin.Close()
	if slices.Contains(orAll(stages), pipeline.View) {
		views, err := c.Views(ctx)
		if err != nil {
			return nil, err
		}
		views.Close()
	}
	pool, err := c.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	return o.selector.Applied(ctx, o.app, postgres.NewCatalog(pool), nil) // the arguments are stages
}

// refuse gives an error of starting its exit code: a topic or layout that is not the applied one is refused.
func refuse(err error) error {
	if errors.Is(err, kafka.ErrConfig) {
		return exit.With(exit.Refused, err)
	}
	return connect.Refuse(err)
}

// report logs how far the stages are, at intervals, until done.
func report(log *slog.Logger, p *pipeline.Pipeline, done <-chan struct{}) {
	ticker := time.NewTicker(statusInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			for _, s := range p.Status() {
				log.Info("status", attributes(s)...)
			}
		}
	}
}

// attributes are a stage's status as log attributes.
func attributes(s run.Status) []any {
	all := []any{"stage", s.Stage, "partition", s.Partition, "frontier", s.Frontier, "epoch", s.Epoch}
	if s.Stall != nil {
		all = append(all, "stall", s.Stall.Reason, "since", s.Stall.Since, "attempts", s.Stall.Attempts)
	}
	return all
}

// orAll are the stages that run.
func orAll(stages []string) []string {
	if len(stages) == 0 {
		return pipeline.All()
	}
	return stages
}
