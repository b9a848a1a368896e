// Package resume is `amendsctl resume`: it makes a stage try a partition again that is stalled, or that stopped for a
// reason which is gone (R36).
package resume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/postgres"
)

// options are the verb's flags.
type options struct {
	app       *app.App
	selector  *connect.Selector
	stage     string
	partition int32
	asJSON    bool
}

// New returns the verb.
func New(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:   "resume --stage worker|relay|view|intake-publish --partition P",
		Short: "Make a stage try a stalled or stopped partition again",
		Long: "resume asks whatever process runs the stage, here or on another machine, to try a partition at once instead of\n" +
			"waiting for its next try. Processes look for such requests every second.\n\n" +
			"Where the partition has stopped for good (overflow, protocol violation, a bug, a damaged outbox), resume first does\n" +
			"again what failed, and writes nothing: while the cause stands it refuses, exit code 5, and the partition stays\n" +
			"stopped. Where the cause is gone the stop is removed.\n\n" +
			"A source partition that a replay left held, because it was killed, is given back to its owner.\n\n" +
			"The partitions of worker, relay and intake-publish are the source topic's, those of the view the output topic's. The\n" +
			"intake's other tasks (" + strings.Join(intakeTasks(), ", ") + ") have partition 0 alone.",
		Example: "  amendsctl resume -n demo --stage view --partition 0\n  amendsctl resume -n demo --stage worker --partition 3 -o json\n" +
			"  amendsctl resume -n demo --stage intake-publish --partition 1",
		Args: cobra.NoArgs,
	}
	connections := connect.Register(cmd)
	o.selector = connect.RegisterSelector(cmd)
	f := cmd.Flags()
	f.StringVar(&o.stage, "stage", "", "worker, relay, view, intake-publish, or another task of the intake")
	f.Int32Var(&o.partition, "partition", 0, "partition of the stage")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case !slices.Contains(stages(), o.stage):
			return exit.With(exit.Usage, fmt.Errorf("--stage %q: want one of %s", o.stage, strings.Join(stages(), ", ")))
		case !f.Changed("partition"):
			return exit.With(exit.Usage, errors.New("--partition is required"))
		}
		output, err := f.GetString("output")
		if err != nil {
			return err
		}
		o.asJSON = output == "json"
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), c)
	}
	return cmd
}

// stages are all that can be asked to try again.
func stages() []string { return append(pipeline.All(), pipeline.IntakeStages()...) }

// intakeTasks are the intake's tasks that have one partition.
func intakeTasks() []string { return pipeline.IntakeStages()[1:] }

// application is what the database shows of the connections of a resume.
const application = "amends resume"

// run connects what the stage needs and resumes.
func (o *options) run(ctx context.Context, c connect.Connections) error {
	if err := c.Check(); err != nil {
		return err
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	admin.Close()
	catalog, err := c.Catalog(ctx)
	if err != nil {
		return err
	}
	defer catalog.Close()
	applied, err := o.selector.Applied(ctx, o.app, postgres.NewCatalog(catalog), nil)
	if err != nil {
		return err
	}
	if err := o.checkPartition(applied); err != nil {
		return exit.With(exit.Usage, err)
	}
	r := pipeline.Resuming{Applied: applied, Kafka: c.Kafka, Stage: o.stage, Partition: o.partition}
	if r.State, err = c.State(ctx, applied, application, 3); err != nil {
		return err
	}
	defer r.State.Close()
	if o.stage == pipeline.View {
		if r.View, err = c.View(ctx, applied, application, 3); err != nil {
			return err
		}
		defer r.View.Close()
	}
	done, err := pipeline.Resume(ctx, r)
	switch {
	case errors.Is(err, pipeline.ErrCauseStands):
		return exit.With(exit.Refused, err)
	case err != nil:
		return connect.Refuse(err)
	}
	return o.write(done)
}

// checkPartition finds a partition that the stage has not.
func (o *options) checkPartition(applied *postgres.Applied) error {
	count := applied.Namespace.Spec.Source.Partitions
	switch {
	case o.stage == pipeline.View:
		count = applied.Namespace.Spec.Output.Partitions
	case slices.Contains(intakeTasks(), o.stage):
		count = 1
	}
	if o.partition < 0 || o.partition >= count {
		return fmt.Errorf("--partition %d: the %s of namespace %s has partitions 0 to %d", o.partition, o.stage, applied.Name, count-1)
	}
	return nil
}

// write prints what was done.
func (o *options) write(done pipeline.Resumed) error {
	var err error
	if o.asJSON {
		encoder := json.NewEncoder(o.app.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(done)
	} else {
		var said []string
		if done.Released {
			said = append(said, "given back by a replay")
		}
		if done.Cleared != "" {
			said = append(said, "its stop is removed ("+done.Cleared+")")
		}
		said = append(said, "whatever process runs it is asked to try now")
		_, err = fmt.Fprintf(o.app.Stdout, "%s partition %d of namespace %s: %s\n", done.Stage, done.Partition, done.Namespace, strings.Join(said, "; "))
	}
	if err != nil {
		return fmt.Errorf("write what was done: %w", err)
	}
	return nil
}
