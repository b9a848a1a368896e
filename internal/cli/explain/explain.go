// Package explain is `amendsctl explain`: why one stock key is as it is, derived by the judge's own means.
package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/get"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/explain"
)

// New returns the explain command; it has one kind of thing, key.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain key ITEM LOCATION",
		Short:   "Tell why the balances, alerts and status of one stock key are as they are",
		Long:    "explain derives one thing from the source history, with every record that it rests on.",
		Example: "  amendsctl explain key widget berlin -n demo",
	}
	get.OfKinds(cmd)
	cmd.AddCommand(newKey(a))
	return cmd
}

// flags are what the command line says.
type flags struct {
	namespace, records, day string
	output                  string
	limit                   int
	manifest                *load.Flags
	servers                 *connect.Flags
}

// newKey returns the command for a stock key.
func newKey(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key ITEM LOCATION",
		Short: "Explain one stock key from its source records",
		Long: "explain key reads the source history and shows every transaction of the key with all of its revisions\n" +
			"(authoritative, superseded, cancelled, conflicting), what each moves on which day, the daily closes, the crossing\n" +
			"test with its numbers, and the output versions with the record that triggered each and whether the view has them.\n\n" +
			"The history is the source topic of an applied namespace, up to what is committed now: stages may be running, and\n" +
			"the view may be behind. With --records it is a snapshot folder or a record file, without any server; there are\n" +
			"then no output versions. Nothing is asked of the worker. It reads only.",
		Example: "  amendsctl explain key widget berlin -n demo\n" +
			"  amendsctl explain key widget berlin -n demo --day 2026-01-02 -o json\n" +
			"  amendsctl explain key widget berlin --manifest demo.yaml --records history.jsonl",
		Args: cobra.ExactArgs(2),
	}
	f := &flags{manifest: load.AddFlags(cmd), servers: connect.Register(cmd)}
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "applied namespace; needed where there is more than one")
	cmd.Flags().StringVar(&f.records, "records", "", "snapshot folder or record file in place of servers, - for stdin; needs a manifest")
	cmd.Flags().StringVar(&f.day, "day", "", "only this day, YYYY-MM-DD, and the transactions that ever moved stock on it")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "at most so many days, transactions, revisions, records and output versions of each, 0 for all; the rest is counted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if f.output, err = cmd.Flags().GetString("output"); err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		if err := f.check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		return f.run(cmd.Context(), a, explain.Name{Item: args[0], Location: args[1]})
	}
	return cmd
}

// check finds wrong combinations.
func (f *flags) check() error {
	if f.day != "" {
		if _, err := time.Parse(time.DateOnly, f.day); err != nil {
			return fmt.Errorf("--day %s: want a day as YYYY-MM-DD", f.day)
		}
	}
	switch given := f.manifest.Given(nil); {
	case f.limit < 0:
		return fmt.Errorf("--limit %d is negative; 0 lists all", f.limit)
	case f.records != "" && f.namespace != "":
		return errors.New("-n names an applied namespace, --records needs no server; give one of them")
	case f.records != "" && !given:
		return errors.New("--records needs the manifest: name it with --manifest")
	case f.records == "" && given && f.namespace != "":
		return errors.New("-n and --manifest both name the namespace; give one of them")
	}
	return nil
}

// run explains and prints.
func (f *flags) run(ctx context.Context, a *app.App, name explain.Name) error {
	var d explain.Document
	var err error
	if f.records != "" {
		d, err = f.fromFile(ctx, a, name)
	} else {
		d, err = f.fromServers(ctx, a, name)
	}
	if err != nil {
		return err
	}
	d = d.OnDay(f.day).Limited(f.limit)
	if f.output == "json" {
		err = explain.JSON(a.Stdout, d)
	} else {
		err = explain.Text(a.Stdout, d)
	}
	if err != nil {
		return fmt.Errorf("write the explanation: %w", err)
	}
	return nil
}
