package verify

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// keepTimeout bounds the keeping of a report: a verdict does not wait for a locked table.
const keepTimeout = 30 * time.Second

// keeper is a state database that keeps reports.
type keeper interface {
	Keep(ctx context.Context, r *report.Report)
}

// Keep keeps a report where its database does and its role may. The report then names its number, or says why it has
// none; the verdict is the same.
func Keep(ctx context.Context, deps verify.Deps, r *report.Report) {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	r.NotKept = "this database keeps no reports"
	if k, ok := deps.State.(keeper); ok {
		k.Keep(ctx, r)
	}
}

// extensions are the formats of report files by what the name ends in.
var extensions = map[string]report.Format{
	".html": report.FormatHTML, ".md": report.FormatMarkdown, ".xml": report.FormatJUnit, ".json": report.FormatJSON, ".txt": report.FormatText,
}

// checkReports finds report files of which the format is not known.
func checkReports(paths []string) error {
	for _, path := range paths {
		if _, ok := extensions[strings.ToLower(filepath.Ext(path))]; !ok {
			return fmt.Errorf("--report %s: want a name that ends in .html, .md, .xml (JUnit), .json or .txt", path)
		}
	}
	return nil
}

// writeReports writes the report to files, each in the format that its name says. A verdict that cannot be written where
// it was asked for is an error, whatever it was.
func writeReports(paths []string, r *report.Report, limit int) error {
	for _, path := range paths {
		var b bytes.Buffer
		err := report.Render(&b, r, extensions[strings.ToLower(filepath.Ext(path))], limit)
		if err == nil {
			err = replace(path, b.Bytes())
		}
		if err != nil {
			return exit.With(exit.Error, fmt.Errorf("the verdict is %s, and the report cannot be written: %w", r.Status, err))
		}
	}
	return nil
}
