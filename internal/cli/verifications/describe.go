package verifications

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/report"
)

// describeFlags are the flags of the verb beside those of connections.
type describeFlags struct {
	against, output string
	limit           int
}

// NewDescribe returns the command that shows a kept report, for describe.New.
func NewDescribe(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verification NUMBER",
		Aliases: []string{"verifications"},
		Short:   "Show the report of a verification, or what changed since another one",
		Long: "describe verification prints a report that `amendsctl verify` kept, in any of its formats; as JSON it is what was\n" +
			"printed then, byte for byte. With --against it says what changed from that earlier report to this one: the verdict,\n" +
			"the counts, and which differences appeared, vanished or have other values, as text or JSON.\n\n" +
			"The exit code says whether the report could be shown, not what its verdict was.",
		Example: "  amendsctl describe verification 12\n" +
			"  amendsctl describe verification 12 -o html > report.html\n" +
			"  amendsctl describe verification 12 --against 11",
		Args: cobra.ExactArgs(1),
	}
	servers := connect.Register(cmd)
	f := describeFlags{}
	cmd.Flags().StringVar(&f.against, "against", "", "number of an earlier report, to say what changed")
	cmd.Flags().StringVarP(&f.output, "output", "o", string(report.FormatText), "output format: "+strings.Join(report.Formats(), ", "))
	cmd.Flags().IntVar(&f.limit, "limit", 100, "rejections, conflicts and days outside 64 bits that text, JUnit and HTML list, 0 for all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, number, err := f.check(args[0])
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return withDatabase(cmd.Context(), a, servers, func(db *pgview.DB) error {
			return f.show(cmd.Context(), a.Stdout, db, number, format)
		})
	}
	return cmd
}

// check reads the arguments.
func (f *describeFlags) check(number string) (report.Format, int64, error) {
	format, err := report.ParseFormat(f.output)
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("--output: %w", err)
	case f.against != "" && format != report.FormatText && format != report.FormatJSON:
		return "", 0, fmt.Errorf("--against is told as text or json, not as %s", format)
	case f.limit < 0:
		return "", 0, fmt.Errorf("--limit %d is negative; 0 lists all", f.limit)
	}
	n, err := parseNumber(number)
	return format, n, err
}

// parseNumber reads the number of a verification.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no number of a verification; amendsctl get verifications lists them", text)
	}
	return n, nil
}

// show prints one report, or what changed to it.
func (f *describeFlags) show(ctx context.Context, w io.Writer, db *pgview.DB, number int64, format report.Format) error {
	document, r, err := load(ctx, db, number)
	if err != nil {
		return err
	}
	if f.against != "" {
		return f.compare(ctx, w, db, r, format)
	}
	if format == report.FormatJSON {
		_, err = w.Write(document)
	} else {
		err = report.Render(w, r, format, f.limit)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// compare prints what changed from the report named by --against.
func (f *describeFlags) compare(ctx context.Context, w io.Writer, db *pgview.DB, to *report.Report, format report.Format) error {
	number, err := parseNumber(f.against)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--against: %w", err))
	}
	_, from, err := load(ctx, db, number)
	if err != nil {
		return err
	}
	if from.Namespace != to.Namespace {
		return exit.With(exit.Usage, fmt.Errorf("verification %d is of namespace %s, %d of %s; two of one namespace can be compared",
			number, from.Namespace, to.Kept, to.Namespace))
	}
	changes := report.Compare(from, to)
	if format == report.FormatJSON {
		err = report.ChangesJSON(w, changes)
	} else {
		err = report.ChangesText(w, changes)
	}
	if err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

// load reads a kept report, as it was printed and as a value.
func load(ctx context.Context, db *pgview.DB, number int64) ([]byte, *report.Report, error) {
	document, err := db.Verification(ctx, number)
	if errors.Is(err, pgview.ErrNotKept) {
		return nil, nil, exit.With(exit.Usage, fmt.Errorf("%w; amendsctl get verifications lists those there are", err))
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := report.Parse(document)
	if err != nil {
		return nil, nil, exit.With(exit.Refused, fmt.Errorf("verification %d: %w; use the amendsctl that kept it", number, err))
	}
	return document, r, nil
}
