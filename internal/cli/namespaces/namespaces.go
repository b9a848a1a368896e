// Package namespaces is `amendsctl get namespaces` and `amendsctl describe namespace`: what a database holds.
package namespaces

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/stages/postgres"
)

// row is one namespace of the list.
type row struct {
	Name        string    `json:"name"`
	SourceTopic string    `json:"sourceTopic"`
	OutputTopic string    `json:"outputTopic"`
	BuiltBy     string    `json:"builtBy"`
	AppliedAt   time.Time `json:"appliedAt"`
	// Unfinished says what is not finished, empty where the namespace may be used.
	Unfinished string `json:"unfinished"`
	// ExperimentOf is the namespace whose history this one computes otherwise, or empty.
	ExperimentOf string `json:"experimentOf"`
}

func newRow(e postgres.Entry) row {
	return row{
		Name: e.Name, SourceTopic: e.SourceTopic, OutputTopic: e.OutputTopic, BuiltBy: e.BuiltBy, AppliedAt: e.AppliedAt.UTC(),
		Unfinished: e.Unfinished, ExperimentOf: e.ExperimentOf,
	}
}

// state says in a word whether the namespace may be used.
func (r row) state() string {
	switch {
	case r.Unfinished != "":
		return "unfinished"
	case r.ExperimentOf != "":
		return "experiment"
	}
	return "ready"
}

// NewList returns `get namespaces`.
func NewList(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "namespaces",
		Aliases: []string{"namespace", "ns"},
		Short:   "List the applied namespaces",
		Long: "namespaces prints a line for each namespace of the database: its topics, what built it, when it was applied and its\n" +
			"state: ready; experiment, under another business configuration than its original; or unfinished, which may not be\n" +
			"used: a rebuild or a deletion was begun and not ended.",
		Example: "  amendsctl get namespaces\n  amendsctl get namespaces -o json",
		Args:    cobra.NoArgs,
	}
	connections := connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return err
		}
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		pool, err := c.Catalog(cmd.Context())
		if err != nil {
			return err
		}
		defer pool.Close()
		entries, err := postgres.NewCatalog(pool).List(cmd.Context())
		if err != nil {
			return connect.Refuse(err)
		}
		rows := make([]row, 0, len(entries))
		for _, e := range entries {
			rows = append(rows, newRow(e))
		}
		if output == "json" {
			return writeJSON(a.Stdout, map[string][]row{"namespaces": rows})
		}
		return writeList(a.Stdout, rows)
	}
	return cmd
}

func writeList(w io.Writer, rows []row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tSOURCE\tOUTPUT\tBUILT BY\tAPPLIED\tSTATE") // Flush reports the error
	for _, r := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.SourceTopic, r.OutputTopic, r.BuiltBy,
			r.AppliedAt.Format(time.RFC3339), r.state())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
