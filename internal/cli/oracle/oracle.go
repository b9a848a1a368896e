// Package oracle is `amendsctl oracle`: the independent recomputation of a source history from a file or a snapshot.
package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
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
			"The engine arrow reads the typed columns of a snapshot, unless --from-raw is given; reference decodes its raw\n" +
			"records again. What was not read is said on stderr.",
		Example: "  amendsctl oracle demo.yaml --records history.jsonl\n" +
			"  amendsctl oracle demo.yaml --records ./snapshot --engine reference",
		Args: cobra.MaximumNArgs(1),
	}
	flags := load.AddFlags(cmd)
	var o options
	cmd.Flags().StringVar(&o.records, "records", "", "snapshot folder or record file, - for stdin")
	cmd.Flags().StringVar(&o.engine, "engine", arrow.Engine{}.Name(), "arrow (columnar) or reference (row by row)")
	cmd.Flags().BoolVar(&o.fromRaw, "from-raw", false, "decode a snapshot's raw records again instead of reading its typed columns")
	cmd.Flags().IntVar(&o.parallel, "parallel", 0, "number of goroutines of the engine arrow (default one for each processor)")
	cmd.Flags().StringVar(&o.memory, "memory", "", "memory for records at a time, as 512MiB (default a quarter of the machine's)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "json", "json, or summary: counts and sums of the result of the engine arrow")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := flags.Path(args)
		if err != nil {
			return err
		}
		if err := load.NotZero(cmd, "parallel"); err != nil {
			return err
		}
		if err := o.check(path); err != nil {
			return err
		}
		ns, err := load.Manifest(a, path)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, ns, o)
	}
	return cmd
}

// options are the flags.
type options struct {
	records, engine, output, memory string
	fromRaw                         bool
	parallel                        int
	bytes                           int64 // of memory
}

// check finds flags that make no sense, alone or together.
func (o *options) check(manifestPath string) error {
	var err error
	if o.bytes, err = machine.Budget(o.memory); err != nil {
		return exit.With(exit.Usage, err)
	}
	usage := func(text string) error { return exit.With(exit.Usage, errors.New(text)) }
	columnar := o.engine == arrow.Engine{}.Name()
	switch {
	case o.records == "":
		return usage("no records given; name a snapshot folder or a record file with --records")
	case o.records == "-" && manifestPath == "-":
		return usage("manifest and records cannot both come from stdin")
	case !columnar && o.engine != reference.Engine{}.Name():
		return usage(fmt.Sprintf("unknown engine %q; want arrow or reference", o.engine))
	case o.output != "json" && o.output != "summary":
		return usage(fmt.Sprintf("unknown output %q; want json or summary", o.output))
	case o.output == "summary" && !columnar:
		return usage("-o summary needs the engine arrow")
	case o.parallel < 0:
		return usage(fmt.Sprintf("--parallel %d; want at least 1", o.parallel))
	}
	return nil
}

// run computes one history and prints what came of it.
func run(ctx context.Context, a *app.App, ns *manifests.Namespace, o options) error {
	machine.Thrifty(a.Getenv)
	if o.engine == (reference.Engine{}).Name() {
		p, err := rowByRow(ctx, a, reference.Engine{}, ns, o.records)
		if err != nil {
			return err
		}
		return projection.Write(a.Stdout, p)
	}
	r, err := columnar(ctx, a, ns, o.records, o.fromRaw, arrow.Options{Workers: o.parallel, Memory: o.bytes})
	if err != nil {
		return err
	}
	if o.output == "summary" {
		return json.NewEncoder(a.Stdout).Encode(r.Checksum())
	}
	return projection.Write(a.Stdout, r.Projection())
}
