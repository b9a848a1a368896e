// Package export is `amendsctl export`: it copies a namespace's source history into a Parquet dataset, for the oracle
// and for anyone's own tools (design section 7).
package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/vectorized/snapshot"
)

// New returns the export command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export --out DIR",
		Short: "Export a namespace's source history into a Parquet dataset",
		Long: "export reads the source topic, read_committed, from its start through its last stable offsets (H) and writes a\n" +
			"folder of Parquet files: typed columns, raw bytes, and snapshot.json with the digest of every file. A folder\n" +
			"that holds an earlier export of the same topic is continued; an interrupted export is resumed by the next one.\n" +
			"The pipeline may be running; nothing but the folder is written.",
		Example: "  amendsctl export -n demo --out history\n  amendsctl oracle --manifest demo.yaml --records history",
		Args:    cobra.NoArgs,
	}
	name := cmd.Flags().StringP("namespace", "n", "", "applied namespace; needed where there is more than one")
	dir := cmd.Flags().String("out", "", "folder to write or continue (required)")
	servers := connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *dir == "" {
			return exit.With(exit.Usage, errors.New("no folder given; name one with --out"))
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		connections, err := servers.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, connections, *name, *dir, output == "json")
	}
	return cmd
}

// run exports and prints what the folder then holds.
func run(ctx context.Context, a *app.App, c connect.Connections, name, dir string, asJSON bool) error {
	deps, done, err := verify.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	progress := func(string) {}
	if a.StderrTTY {
		// Progress that cannot be shown changes nothing.
		progress = func(line string) { _, _ = fmt.Fprintln(a.Stderr, line) }
	}
	result, err := Run(ctx, deps.State, deps.Topics, name, dir, progress)
	if err != nil {
		return coded(err)
	}
	return write(a.Stdout, result, asJSON)
}

// coded gives an error its exit code: 5 where the folder is held or belongs to another history (design section 8).
func coded(err error) error {
	var held *snapshot.HeldError
	var mismatch *snapshot.MismatchError
	if errors.As(err, &held) || errors.As(err, &mismatch) {
		return exit.With(exit.Refused, err)
	}
	return verify.Coded(err)
}

// write prints the result.
func write(w io.Writer, r *Result, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	_, err := fmt.Fprintf(w, "exported %s: %d records added, %d in %s (%d files)\n  H %v from %v, topic %s (%s)\n",
		r.Namespace, r.Exported, r.Records, r.Folder, r.Files, r.H, r.Starts, r.Topic, r.TopicID)
	return err
}
