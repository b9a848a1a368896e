package diagnostics

import (
	"encoding/json"
	"fmt"
	"slices"

	"amends.dev/amends/schemas"
)

// rejections are the reasons of schemas/reasons.json.
func rejections() ([]string, error) {
	data, err := schemas.Read("reasons.json")
	if err != nil {
		return nil, err
	}
	var listed []struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, fmt.Errorf("read the rejection reasons: %w", err)
	}
	var reasons []string
	for _, l := range listed {
		if !slices.Contains(reasons, l.Reason) { // wrong_type is checked at two moments
			reasons = append(reasons, l.Reason)
		}
	}
	return reasons, nil
}
