// Package status is `amendsctl status`: how far every stage of an applied namespace has come, who owns what, and why
// something stands still (design section 6).
//
// It reads what is durable and asks the broker; it needs no running stage. Why a stage that is up does not move is durable
// too: its process records it every second, unless it is the database itself that is away.
package status

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/stages/postgres"
)

// New returns the status command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [FILE]",
		Short: "Show how far every stage has come and why it stands still",
		Long: "status prints a line for each partition of worker, relay and view: its frontier and the end of what there is to\n" +
			"do, how many positions lie between and how old the first waiting one is, the epoch (for the relay: the lease's\n" +
			"term), the owner, - where nobody owns it now, and the reason where it stopped. Worker and view count offsets, the relay outbox sequences. Below stand who may\n" +
			"write to the source topic (intake, generate), and how many accepted requests wait to be published, and to have\n" +
			"their decision delivered.\n" +
			"It reads only, and needs no running stage.",
		Example: "  amendsctl status -n demo\n  amendsctl status -n demo -o json",
		Args:    cobra.MaximumNArgs(1),
	}
	flags, selector := connect.Register(cmd), connect.RegisterSelector(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		connections, err := flags.Resolve(a)
		if err == nil {
			err = connections.Check()
		}
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		facts, err := show(cmd.Context(), a, connections, selector, args)
		if err != nil {
			return err
		}
		return write(a, Build(facts), output == "json")
	}
	return cmd
}

// show proves that the view's database answers, finds the chosen namespace and reads its facts.
func show(ctx context.Context, a *app.App, c connect.Connections, selector *connect.Selector, args []string) (Facts, error) {
	pool, err := c.Catalog(ctx)
	if err != nil {
		return Facts{}, err
	}
	defer pool.Close()
	views, err := c.Views(ctx)
	if err != nil {
		return Facts{}, err
	}
	views.Close()
	applied, err := selector.Applied(ctx, a, postgres.NewCatalog(pool), args)
	if err != nil {
		return Facts{}, err
	}
	return Read(ctx, c, applied, a.Now)
}

func write(a *app.App, d Document, asJSON bool) error {
	if !asJSON {
		return writeText(a.Stdout, d)
	}
	encoder := json.NewEncoder(a.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}
