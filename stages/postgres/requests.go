package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"

	"amends.dev/amends/stages/intake"
)

//go:embed sql/requests/waiting.sql
var requestsWaitingSQL string

// RequestReport is what the intake's accepted requests wait for (R29, R33).
type RequestReport struct {
	// ToPublish are those that are not in the source topic yet, as far as is known.
	ToPublish int64 `json:"toPublish"`
	// ToDeliver are those whose decision is not in the topic that their sender named.
	ToDeliver int64 `json:"toDeliver"`
}

// ReadRequestReport counts, over a pool whose search_path is a namespace's state schema.
func ReadRequestReport(ctx context.Context, pool *Pool) (RequestReport, error) {
	var r RequestReport
	err := pool.QueryRow(ctx, requestsWaitingSQL, intake.PublishKind, intake.DeliverKind).Scan(&r.ToPublish, &r.ToDeliver)
	if err != nil {
		return r, fmt.Errorf("count the requests that wait: %w", classify(err))
	}
	return r, nil
}
