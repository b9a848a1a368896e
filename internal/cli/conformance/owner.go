package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/ownerconformance"
	"amends.dev/amends/internal/pgserver"
)

// The stores that the corpus of the durable owner can be run on.
const (
	storeMemory   = "memory"
	storePostgres = "postgres"
)

// newDurableOwner returns the command for the corpus of the durable owner.
func newDurableOwner(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "durable-owner",
		Short: "Run the corpus of the durable-owner contract on a store",
		Long: "durable-owner runs every scenario of a corpus on an empty store, compares the complete image of the owner after each\n" +
			"step, and prints a table. The exit code is 1 where anything differs or cannot be read.\n\n" +
			"--corpus names a folder of JSON files; without it the corpus in this program is run. On --store postgres a crash is a\n" +
			"real one: the connection is cut before COMMIT. The server is private and gone afterwards, unless --database-url names\n" +
			"another: there each scenario has a schema of its own, which is dropped at its end.",
		Example: "  amendsctl conformance durable-owner\n" +
			"  amendsctl conformance durable-owner --store postgres --corpus ./their-corpus -o json",
		Args: cobra.NoArgs,
	}
	connections := connect.Register(cmd)
	store := cmd.Flags().String("store", storeMemory, "store to run on: memory or postgres")
	dir := cmd.Flags().String("corpus", "", "folder of a corpus, instead of the one in this program")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *store != storeMemory && *store != storePostgres {
			return exit.With(exit.Usage, fmt.Errorf("there is no store %q; want %s or %s", *store, storeMemory, storePostgres))
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		given, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		folder, err := corpus.DurableOwner()
		name := "in this program"
		if *dir != "" {
			folder, err = folderAt(*dir)
			name = *dir
		}
		if err != nil {
			return err
		}
		return runOwner(cmd.Context(), a, folder, name, *store, given, output == "json")
	}
	return cmd
}

// runOwner runs a corpus and prints what came of it.
func runOwner(ctx context.Context, a *app.App, folder fs.FS, name, store string, given connect.Connections, asJSON bool) (err error) {
	files, err := ownerconformance.Load(folder)
	if err != nil {
		return fmt.Errorf("read the corpus %s: %w", name, err)
	}
	open := ownerconformance.Memory
	if store == storePostgres {
		server, err := ownerServer(ctx, given)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		open = ownerconformance.Postgres(server.url, "amends_conformance_"+server.name)
	}
	s := &ownerSummary{Store: store, Passed: true}
	s.Outcomes = ownerconformance.RunAll(ctx, files, open, func(out ownerconformance.Outcome) {
		s.Checks += out.Checks
		s.Passed = s.Passed && out.Result == ownerconformance.Passed
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	write := s.text
	if asJSON {
		write = s.json
	}
	if err := write(a.Stdout); err != nil {
		return fmt.Errorf("write the outcomes: %w", err)
	}
	if !s.Passed {
		return exit.Quiet(exit.Error)
	}
	return nil
}

// ownerDatabase is the server of a run: a private one, unless a URL was given.
type ownerDatabase struct {
	url, name, folder string
	private           *pgserver.Server
}

// ownerServer brings up what was not given. Here a missing Postgres is an error: there is nothing else to run on.
func ownerServer(ctx context.Context, given connect.Connections) (s *ownerDatabase, err error) {
	s = &ownerDatabase{url: given.StateURL()}
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("name this run: %w", err)
	}
	s.name = hex.EncodeToString(random[:])
	if s.url != "" {
		return s, answers(ctx, given)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "amends-conformance-"); err != nil {
		return s, fmt.Errorf("make a folder for the server: %w", err)
	}
	s.private, err = pgserver.Start(ctx, pgserver.Options{Dir: filepath.Join(s.folder, "postgres"), NoSync: true, Ephemeral: true})
	if errors.Is(err, pgserver.ErrMissing) {
		return s, fmt.Errorf("%w; or name a server with --database-url", err)
	}
	if err != nil {
		return s, fmt.Errorf("start a private Postgres: %w", err)
	}
	s.url = s.private.URL("postgres")
	return s, nil
}

// stop ends what was brought up.
func (s *ownerDatabase) stop() error {
	var err error
	if s.private != nil {
		err = s.private.Stop(context.Background())
	}
	if s.folder != "" {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}

// ownerSummary is what a run found.
type ownerSummary struct {
	Passed   bool                       `json:"passed"`
	Store    string                     `json:"store"`
	Checks   int                        `json:"checks"`
	Outcomes []ownerconformance.Outcome `json:"outcomes"`
}

// json prints the summary as JSON.
func (s *ownerSummary) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// text prints the table, then what failed.
func (s *ownerSummary) text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "FILE\tSCENARIO\tCHECKS\tRESULT") // a tabwriter keeps its first error until Flush
	failed := 0
	for _, out := range s.Outcomes {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", out.File, out.Scenario, out.Checks, out.Result)
		if out.Result != ownerconformance.Passed {
			failed++
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	line := fmt.Sprintf("%d scenarios with %d checks on %s: all hold", len(s.Outcomes), s.Checks, s.Store)
	if failed > 0 {
		line = fmt.Sprintf("%d scenarios with %d checks on %s: %d FAIL", len(s.Outcomes), s.Checks, s.Store, failed)
	}
	for _, out := range s.Outcomes {
		for _, fault := range out.Faults {
			line += fmt.Sprintf("\nFAIL %s, %s: %s", out.File, out.Scenario, fault)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", line)
	return err
}
