// Package validate is `amendsctl validate`: it checks a namespace manifest without touching anything.
package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/manifests"
)

// New returns the validate command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a namespace manifest and print its digest",
		Long: "validate parses a namespace manifest and the stock-key file it names, prints every problem with its position,\n" +
			"and touches nothing. The digest it prints is the one that apply records and every later run compares.",
		Example: "  amendsctl validate demo.yaml\n  amendsctl validate -f - < demo.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	flags := load.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := flags.Path(args)
		if err != nil {
			return err
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		return run(a, path, output == "json")
	}
	return cmd
}

// run validates one manifest. Its problems are the error; as JSON they are also on stdout, field by field.
func run(a *app.App, path string, asJSON bool) error {
	ns, err := load.Manifest(a, path)
	switch {
	case asJSON:
		if writeErr := writeJSON(a.Stdout, path, ns, err); writeErr != nil {
			return errors.Join(err, writeErr)
		}
	case err == nil:
		keys := "stock keys"
		if len(ns.Spec.StockKeys) == 1 {
			keys = "stock key"
		}
		_, err = fmt.Fprintf(a.Stdout, "ok %s: namespace %s, %d %s, digest %s\n",
			path, ns.Name, len(ns.Spec.StockKeys), keys, ns.NamespaceDigest())
	}
	return err
}

// document is the answer as JSON. Of a valid manifest it shows what was read, defaults included.
type document struct {
	File             string          `json:"file"`
	Valid            bool            `json:"valid"`
	Name             string          `json:"name,omitempty"`
	Digest           string          `json:"digest,omitempty"`
	StockKeys        int             `json:"stockKeys,omitempty"`
	SemanticsVersion int64           `json:"semanticsVersion,omitempty"`
	LedgerOrigin     string          `json:"ledgerOrigin,omitempty"`
	Spec             json.RawMessage `json:"spec,omitempty"`
	Problems         []problem       `json:"problems"`
}

// problem is one fault of the manifest.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// writeJSON writes the document of a namespace, or of the error in its place.
func writeJSON(w io.Writer, path string, ns *manifests.Namespace, err error) error {
	doc := document{File: path, Problems: []problem{}}
	var problems manifests.Problems
	switch {
	case ns != nil:
		doc.Valid, doc.Name, doc.Digest, doc.StockKeys = true, ns.Name, ns.NamespaceDigest(), len(ns.Spec.StockKeys)
		doc.SemanticsVersion, doc.LedgerOrigin, doc.Spec = ns.Spec.SemanticsVersion, ns.Spec.LedgerOriginText(), ns.SpecJSON()
	case errors.As(err, &problems):
		for _, p := range problems {
			doc.Problems = append(doc.Problems, problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message})
		}
	default: // an unreadable file
		doc.Problems = append(doc.Problems, problem{File: path, Message: err.Error()})
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
