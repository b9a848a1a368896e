package projection

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Write prints a projection as indented JSON with a final newline. Integers are exact, and only what JSON demands is
// escaped: < > & and U+2028 stand as they are.
func Write(w io.Writer, p *Projection) error {
	if err := json.MarshalWrite(w, p, jsontext.WithIndent(" ")); err != nil {
		return fmt.Errorf("write projection: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write projection: %w", err)
	}
	return nil
}

// Parse reads what Write printed. Unknown and duplicate members are errors.
func Parse(data []byte) (*Projection, error) {
	var p Projection
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read projection: %w", err)
	}
	return &p, nil
}
