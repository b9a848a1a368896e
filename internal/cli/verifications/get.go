// Package verifications is `amendsctl get verifications` and `amendsctl describe verification`: the reports that
// verifications left in the database, listed, shown in every format, and compared with each other (S10).
package verifications

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/pgview"
)

// listedDefault is how many reports are listed where nothing else is asked for.
const listedDefault = 50

// NewGet returns the command that lists kept reports, for get.New.
func NewGet(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verifications",
		Aliases: []string{"verification"},
		Short:   "List the reports of verifications",
		Long: "get verifications lists the reports that `amendsctl verify` kept, the newest last: number, namespace, verdict, when,\n" +
			"records read and differences found, - where nothing was compared. Reports outlive their namespace.",
		Example: "  amendsctl get verifications -n demo\n  amendsctl get verifications -o json",
		Args:    cobra.NoArgs,
	}
	servers := connect.Register(cmd)
	namespace := cmd.Flags().StringP("namespace", "n", "", "only those of this namespace, which need not exist any more")
	limit := cmd.Flags().Int("limit", listedDefault, "list the last ones, 0 for all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 {
			return exit.With(exit.Usage, fmt.Errorf("--limit %d is negative; 0 lists all", *limit))
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		return withDatabase(cmd.Context(), a, servers, func(db *pgview.DB) error {
			all, err := db.Verifications(cmd.Context(), *namespace, *limit)
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(a.Stdout, all)
			}
			return writeTable(a.Stdout, all)
		})
	}
	return cmd
}

// withDatabase opens the judge's view of the catalog's database.
func withDatabase(ctx context.Context, a *app.App, servers *connect.Flags, use func(*pgview.DB) error) error {
	connections, err := servers.Resolve(a)
	if err != nil {
		return err
	}
	catalog, err := connections.Catalog(ctx) // proves that it answers, with one line that says what to do where not
	if err != nil {
		return err
	}
	catalog.Close()
	db, err := pgview.Open(ctx, connections.StateURL())
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db)
}

// writeJSON prints the list as an object, so that it can grow.
func writeJSON(w io.Writer, all []pgview.Verification) error {
	if all == nil {
		all = []pgview.Verification{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"verifications": all}); err != nil {
		return fmt.Errorf("write the verifications: %w", err)
	}
	return nil
}

// writeTable prints the list for people.
func writeTable(w io.Writer, all []pgview.Verification) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(t, "NUMBER\tNAMESPACE\tSTATUS\tVERIFIED AT\tRECORDS\tDIFFERENCES")
	for _, v := range all {
		_, line := fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", v.Number, v.Namespace, v.Status, v.VerifiedAt, count(v.Records), count(v.Differences))
		err = errors.Join(err, line)
	}
	if err = errors.Join(err, t.Flush()); err != nil {
		return fmt.Errorf("write the verifications: %w", err)
	}
	return nil
}

// count shows a number, or that there is none: nothing was compared.
func count(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
