package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/postgres"
)

// progressInterval is the least time between two lines of progress.
const progressInterval = 2 * time.Second

// New returns the verb.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Publish a synthetic history to the source topic",
		Long: "generate publishes a reproducible stream of stock transactions with corrections: the same seed gives the same\n" +
			"records. It holds the namespace's writer lease, so that verify can stop it and wait for it. Histories stay inside\n" +
			"the arithmetic bound of the contract.",
		Args: cobra.NoArgs,
	}
	options := AddFlags(cmd)
	connections := connect.Register(cmd)
	selector := connect.RegisterSelector(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := options.Validate(); err != nil {
			return exit.With(exit.Usage, err)
		}
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return err
		}
		return publish(cmd.Context(), a, c, selector, *options, output == "json")
	}
	return cmd
}

// result is what the verb prints.
type result struct {
	Namespace string           `json:"namespace"`
	Topic     string           `json:"topic"`
	Seed      uint64           `json:"seed"`
	Published int64            `json:"published"`
	Counts    map[string]int64 `json:"counts"`
	// Stopped says that a verification asked the producer to stop before the end.
	Stopped bool `json:"stopped"`
}

func publish(ctx context.Context, a *app.App, c connect.Connections, selector *connect.Selector, o generate.Options, asJSON bool) error {
	if err := c.Check(); err != nil {
		return err
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	admin.Close()
	pool, err := c.Catalog(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	applied, err := selector.Applied(ctx, a, postgres.NewCatalog(pool), nil)
	if err != nil {
		return err
	}
	holder, err := pipeline.NewHolder()
	if err != nil {
		return err
	}
	generated, err := pipeline.Generate(ctx, pipeline.Generation{
		Applied: applied, Catalog: pool, Kafka: c.Kafka, Holder: holder, Options: o, Progress: progress(a),
	})
	if total := generated.Counts.Total(); err == nil || total > 0 {
		r := result{Namespace: applied.Name, Topic: applied.SourceTopic, Seed: o.Seed, Published: total,
			Counts: generated.Counts.Map(), Stopped: generated.Stopped}
		switch {
		case ctx.Err() != nil && err != nil:
			err = fmt.Errorf("stopped after %d of %d records, which stay in topic %s", total, o.Count, applied.SourceTopic)
		case err != nil:
			err = fmt.Errorf("%w; the %d records published so far stay in topic %s", err, total, applied.SourceTopic)
		}
		err = errors.Join(err, r.write(a.Stdout, asJSON, generated.Counts))
	}
	return refuse(err)
}

// refuse gives the error its exit code: another writer, or another topic, is refused.
func refuse(err error) error {
	if errors.Is(err, generate.ErrLeaseHeld) {
		return exit.With(exit.Refused, fmt.Errorf("%w; wait until it ends, or until its lease expires", err))
	}
	return connect.Refuse(err)
}

// progress writes a line now and then where stderr is a terminal; nil elsewhere.
func progress(a *app.App) func(published, total int64) {
	if !a.StderrTTY {
		return nil
	}
	next := a.Now()
	return func(published, total int64) {
		if now := a.Now(); !now.Before(next) || published == total {
			next = now.Add(progressInterval)
			_, _ = fmt.Fprintf(a.Stderr, "published %d of %d\n", published, total)
		}
	}
}

// write prints the result.
func (r result) write(w io.Writer, asJSON bool, counts generate.Counts) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	if r.Stopped {
		_, _ = fmt.Fprintln(w, "stopped by a verification")
	}
	_, _ = fmt.Fprintf(w, "published %d records to %s with seed %d:", r.Published, r.Topic, r.Seed)
	for class, n := range counts {
		if n > 0 {
			_, _ = fmt.Fprintf(w, " %s %d", generate.Class(class), n)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
