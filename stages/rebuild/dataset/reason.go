package dataset

import (
	"sync"

	"github.com/go-json-experiment/json"

	"amends.dev/amends/schemas"
)

// isReason says whether schemas/reasons.json lists a rejection reason.
func isReason(code string) bool { return reasons()[code] }

var reasons = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	var list []struct {
		Reason string `json:"reason"`
	}
	data, err := schemas.Read("reasons.json")
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return known // a test reads the embedded document
	}
	for _, r := range list {
		known[r.Reason] = true
	}
	return known
})
