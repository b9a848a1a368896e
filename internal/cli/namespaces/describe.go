package namespaces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/stages/postgres"
)

// document is one namespace in full.
type document struct {
	row
	SemanticsVersion int    `json:"semanticsVersion"`
	Digest           string `json:"digest"`
	BusinessDigest   string `json:"businessDigest"`
	LedgerOrigin     string `json:"ledgerOrigin"`
	SourceTopicID    string `json:"sourceTopicId"`
	SourcePartitions int32  `json:"sourcePartitions"`
	OutputTopicID    string `json:"outputTopicId"`
	OutputPartitions int32  `json:"outputPartitions"`
	StockKeys        int    `json:"stockKeys"`
	StateSchema      string `json:"stateSchema"`
	ViewSchema       string `json:"viewSchema"`
	// Growth are the sizes of what is never collected.
	Growth []postgres.Growth `json:"growth"`
}

// NewDescribe returns `describe namespace`.
func NewDescribe(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "namespace NAME",
		Aliases: []string{"namespaces", "ns"},
		Short:   "Show an applied namespace: digests, topics, schemas, sizes",
		Long: "namespace shows what was recorded when a namespace was applied, and how much its outbox, its evidence and its view\n" +
			"have grown to: nothing of it is ever collected. How far the stages are is shown by amendsctl status.",
		Example: "  amendsctl describe namespace demo\n  amendsctl describe namespace demo -o json",
		Args:    cobra.ExactArgs(1),
	}
	connections := connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return err
		}
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		d, err := read(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		if output == "json" {
			return writeJSON(a.Stdout, d)
		}
		return writeDocument(a.Stdout, d)
	}
	return cmd
}

// read collects everything about one namespace.
func read(ctx context.Context, c connect.Connections, name string) (document, error) {
	pool, err := c.Catalog(ctx)
	if err != nil {
		return document{}, err
	}
	defer pool.Close()
	applied, err := postgres.NewCatalog(pool).LoadUnfinished(ctx, name)
	if err != nil {
		return document{}, connect.Refuse(err)
	}
	spec := applied.Namespace.Spec
	d := document{
		row: newRow(applied.Entry), SemanticsVersion: applied.SemanticsVersion, Digest: applied.NamespaceDigest,
		BusinessDigest: applied.BusinessDigest, LedgerOrigin: spec.LedgerOriginText(),
		SourceTopicID: applied.SourceTopicID, SourcePartitions: spec.Source.Partitions,
		OutputTopicID: applied.OutputTopicID, OutputPartitions: spec.Output.Partitions, StockKeys: len(spec.StockKeys),
		StateSchema: applied.StateSchema, ViewSchema: applied.ViewSchema,
	}
	if d.Growth, err = growth(ctx, c, applied); err != nil {
		return document{}, connect.Refuse(err)
	}
	return d, nil
}

// growth reads the sizes of state and view; a view that is not there, as of a namespace whose deletion was begun, is left
// out.
func growth(ctx context.Context, c connect.Connections, applied *postgres.Applied) ([]postgres.Growth, error) {
	state, err := postgres.Connect(ctx, postgres.Options{URL: c.StateURL(), Schema: applied.StateSchema, Application: "amends describe", MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer state.Close()
	all, err := postgres.ReadStateGrowth(ctx, state)
	if err != nil {
		return nil, err
	}
	view, err := postgres.Connect(ctx, postgres.Options{URL: c.ViewURL(), Schema: applied.ViewSchema, Application: "amends describe", MaxConns: 1})
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	defer view.Close()
	var layout *postgres.LayoutError
	switch err := postgres.CheckLayout(ctx, view, postgres.KindView, applied.ViewSchema); {
	case errors.As(err, &layout) && layout.Have == 0:
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("view: %w", err)
	}
	shown, err := postgres.ReadViewGrowth(ctx, view)
	return append(all, shown), err
}

func writeDocument(w io.Writer, d document) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush reports the error
	}
	line("namespace", "%s", d.Name)
	line("state", "%s", strings.TrimSuffix(d.state()+": "+d.Unfinished+d.experiment(), ": "))
	line("applied", "%s", d.AppliedAt.Format("2006-01-02T15:04:05Z"))
	line("built by", "%s", d.BuiltBy)
	line("semantics version", "%d", d.SemanticsVersion)
	line("digest", "%s", d.Digest)
	line("business digest", "%s", d.BusinessDigest)
	line("ledger origin", "%s", d.LedgerOrigin)
	line("stock keys", "%d", d.StockKeys)
	line("source", "%s, ID %s, %d partitions", d.SourceTopic, d.SourceTopicID, d.SourcePartitions)
	line("output", "%s, ID %s, %d partitions", d.OutputTopic, d.OutputTopicID, d.OutputPartitions)
	line("state schema", "%s", d.StateSchema)
	line("view schema", "%s", d.ViewSchema)
	for _, g := range d.Growth {
		about := ""
		if g.Estimated {
			about = "about "
		}
		line(g.Part, "%s%d table rows, %d bytes", about, g.Rows, g.Bytes)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the namespace: %w", err)
	}
	return nil
}

// experiment names the namespace of whose history this one is an experiment.
func (r row) experiment() string {
	if r.Unfinished != "" || r.ExperimentOf == "" {
		return ""
	}
	return "of " + r.ExperimentOf
}
