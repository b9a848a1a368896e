// Package simulate is `amendsctl simulate`: the worker's core over a record file, without a broker or a database.
package simulate

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/stages/ledger"
	core "amends.dev/amends/stages/ledger/simulate"
)

// New returns the simulate command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate [FILE] --records PATH",
		Short: "Run the worker's core over a record file and print what it would publish",
		Long: "simulate decides every record of a file in file order, as the worker would, and prints JSON: the envelopes\n" +
			"it would publish, one a line, the certified projection they lead to, and under \"uncertified\" the retained\n" +
			"rows of BLOCKED keys. The file has one record a line, as `kcat -C -J` prints them; key_base64 and\n" +
			"payload_base64 hold bytes that JSON text cannot. Nothing is connected to and nothing is stored.\n\n" +
			"Where the worker would stop (a balance outside 64 bits), what was decided before is printed with \"stopped\",\n" +
			"and the exit code is 1.",
		Example: "  amendsctl simulate demo.yaml --records history.jsonl\n" +
			"  kcat -b localhost:9092 -t demo.transactions -C -J -e | amendsctl simulate demo.yaml --records -",
		Args: cobra.MaximumNArgs(1),
	}
	flags := load.AddFlags(cmd)
	records := cmd.Flags().String("records", "", "record file, - for stdin")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		path, err := flags.Path(args)
		if err != nil {
			return err
		}
		if *records == "" {
			return exit.With(exit.Usage, errors.New("no record file given; name one with --records"))
		}
		if *records == "-" && path == "-" {
			return exit.With(exit.Usage, errors.New("manifest and records cannot both come from stdin"))
		}
		return run(a, path, *records)
	}
	return cmd
}

// run simulates one history.
func run(a *app.App, manifestPath, recordPath string) error {
	ns, err := load.Manifest(a, manifestPath)
	if err != nil {
		return err
	}
	file := recordfile.ReadFile(recordPath)
	if recordPath == "-" {
		file = recordfile.Read("stdin", a.Stdin)
	}
	result, err := core.Run(ledger.NewConfig(ns, core.TopicID), history(recordfile.OfTopic(file, ns.Spec.Source.Topic)))
	if err != nil {
		return err
	}
	if err := result.Write(a.Stdout); err != nil {
		return err
	}
	if stopped := result.Stopped; stopped != nil {
		return exit.With(exit.Error, fmt.Errorf("the worker would stop at partition %d, offset %d: %s: %s",
			stopped.Partition, stopped.Offset, stopped.Reason, stopped.Detail))
	}
	return nil
}

// history gives the core what it needs of the file's records.
func history(file iter.Seq2[recordfile.Record, error]) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r, err := range file {
			if !yield(ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, err) {
				return
			}
		}
	}
}
