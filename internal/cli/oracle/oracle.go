// Package oracle is `amendsctl oracle`: the independent recomputation of a source history from a file or a snapshot.
package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// New returns the oracle command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oracle [FILE] --records PATH",
		Short: "Recompute balances and alerts from a source history, without any server",
		Long: "oracle computes a whole history on its own, sharing no code with the worker, and prints JSON: balances,\n" +
			"alerts, key statuses with their conflicts, superseded conflicts, rejected records and closes outside 64 bits.\n" +
			"PATH is a folder that `amendsctl export` wrote, or a file with one record a line, as `kcat -C -J` prints them.\n\n" +
			"The engine arrow reads the typed columns of a snapshot, reference decodes its raw records again. What was not\n" +
			"read is said on stderr.",
		Example: "  amendsctl oracle demo.yaml --records history.jsonl\n" +
			"  amendsctl oracle demo.yaml --records ./snapshot --engine reference",
		Args: cobra.MaximumNArgs(1),
	}
	flags := load.AddFlags(cmd)
	records := cmd.Flags().String("records", "", "snapshot folder or record file, - for stdin")
	name := cmd.Flags().String("engine", arrow.Engine{}.Name(), "arrow (columnar) or reference (row by row)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := flags.Path(args)
		if err != nil {
			return err
		}
		if *records == "" {
			return exit.With(exit.Usage, errors.New("no records given; name a snapshot folder or a record file with --records"))
		}
		if *records == "-" && path == "-" {
			return exit.With(exit.Usage, errors.New("manifest and records cannot both come from stdin"))
		}
		e, err := engineNamed(*name)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, e, path, *records)
	}
	return cmd
}

// engineNamed returns the engine of a name.
func engineNamed(name string) (engine.Engine, error) {
	for _, e := range []engine.Engine{arrow.Engine{}, reference.Engine{}} {
		if e.Name() == name {
			return e, nil
		}
	}
	return nil, exit.With(exit.Usage, fmt.Errorf("unknown engine %q; want arrow or reference", name))
}

// run computes one history and prints its projection.
func run(ctx context.Context, a *app.App, e engine.Engine, manifestPath, recordPath string) error {
	ns, err := load.Manifest(a, manifestPath)
	if err != nil {
		return err
	}
	p, err := compute(ctx, a, e, ns, recordPath)
	if err != nil {
		return err
	}
	return projection.Write(a.Stdout, p)
}

// compute reads the history at a path and computes it.
func compute(ctx context.Context, a *app.App, e engine.Engine, ns *manifests.Namespace, path string) (*projection.Projection, error) {
	if path == "-" {
		return e.Compute(ctx, ns, lines(a, path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	if info.IsDir() {
		return computeSnapshot(ctx, a, e, ns, path)
	}
	return e.Compute(ctx, ns, lines(a, path))
}
