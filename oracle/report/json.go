package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the report as one indented JSON document, by schemas/report.json.
func JSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Parse reads a report that JSON wrote. A report of another schema version, or with members that this build does not
// know, is an error.
func Parse(data []byte) (*Report, error) {
	r := New()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	if r.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("read a report: it is of schema version %d, this build reads %d", r.SchemaVersion, SchemaVersion)
	}
	return r, nil
}
