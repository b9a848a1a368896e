package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report as one indented JSON document, by schemas/report.json.
func JSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
