package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/sender"
	"amends.dev/amends/internal/durabilityprobe"
	"amends.dev/amends/internal/exit"
)

// newDurability returns the command that probes a server of durable requests.
func newDurability(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "durability",
		Short: "Probe a server of the durable-request contract",
		Long: "durability sends requests to any server of the durable-request contract and checks what it answers, a sentence of\n" +
			"the contract at a time. The requests are performed: give a transaction that may be repeated. Without one, an\n" +
			"empty object is sent unchecked, and each record ends in quarantine, so probe a namespace of its own. A check is\n" +
			"ok, FAIL, or - where nothing on this server leads to the case. The exit code is 1 where anything fails.",
		Example: "  amendsctl conformance durability --url http://127.0.0.1:8480 -n shop --transaction txn.json\n" +
			"  amendsctl conformance durability -n shop -o json",
		Args: cobra.NoArgs,
	}
	flags := sender.Register(cmd)
	file := cmd.Flags().String("transaction", "", "file of one transaction that the server accepts")
	levels := cmd.Flags().StringSlice("levels", []string{"none", "stored", "published"}, "levels that the server may know, weakest first")
	patience := cmd.Flags().Duration("patience", 30*time.Second, "how long a committed level may take")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := flags.Resolve(a, 4)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		var random [8]byte
		if _, err := rand.Read(random[:]); err != nil {
			return fmt.Errorf("name this run: %w", err)
		}
		o := durabilityprobe.Options{
			URL: target.URL, Namespace: target.Namespace, Token: target.Token(), HTTP: target.HTTP, Levels: *levels,
			Patience: *patience, Run: "probe-" + hex.EncodeToString(random[:]), Sleep: sleep,
		}
		if *file != "" {
			if o.Transaction, err = os.ReadFile(*file); err != nil || !json.Valid(o.Transaction) {
				return exit.With(exit.Usage, fmt.Errorf("--transaction %s: want a file of one JSON value: %w", *file, orNotJSON(err)))
			}
		}
		return runDurability(cmd.Context(), a, o, output == "json")
	}
	return cmd
}

// errNotJSON is what is wrong with a file that could be read.
var errNotJSON = fmt.Errorf("it is not JSON")

func orNotJSON(err error) error {
	if err == nil {
		return errNotJSON
	}
	return err
}

// sleep waits, at most until ctx ends, whose error it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// durabilityReport is what a probe found.
type durabilityReport struct {
	Passed bool                      `json:"passed"`
	URL    string                    `json:"url"`
	Checks []durabilityprobe.Outcome `json:"checks"`
}

func runDurability(ctx context.Context, a *app.App, o durabilityprobe.Options, asJSON bool) error {
	made := 0
	outcomes, err := durabilityprobe.Run(ctx, o, func(out durabilityprobe.Outcome) {
		made++
		if a.StderrTTY {
			_, _ = fmt.Fprintf(a.Stderr, "\r\033[K%d of %d: %s", made, durabilityprobe.Count(), out.ID)
		}
	})
	if a.StderrTTY {
		_, _ = fmt.Fprint(a.Stderr, "\r\033[K")
	}
	if err != nil {
		return err
	}
	report := durabilityReport{Passed: true, URL: o.URL, Checks: outcomes}
	for _, out := range outcomes {
		report.Passed = report.Passed && out.Result != durabilityprobe.Failed
	}
	write := report.text
	if asJSON {
		write = report.json
	}
	if err := write(a.Stdout); err != nil {
		return fmt.Errorf("write the outcomes: %w", err)
	}
	if !report.Passed {
		return exit.Quiet(exit.Error)
	}
	return nil
}

// json prints the report as JSON.
func (r *durabilityReport) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// text prints the table, then what was found.
func (r *durabilityReport) text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "CHECK\tRESULT\tSENTENCE") // a tabwriter keeps its first error until Flush
	for _, out := range r.Checks {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", out.ID, out.Result, out.Says)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, out := range r.Checks {
		if out.Found == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s %s: %s\n", out.Result, out.ID, out.Found); err != nil {
			return err
		}
	}
	return nil
}
