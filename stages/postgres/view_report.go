package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed sql/view/report.sql
var viewReportSQL string

// OutputReport is what the view durably says of one output partition.
type OutputReport struct {
	Partition int32
	// Next is the exclusive position; Applied and Ignored count messages.
	Next, Applied, Ignored int64
	Stop                   *StopReport
}

// ReadOutputReport reads the state of all output partitions, by number, over a pool whose search_path is the
// namespace's view schema.
func ReadOutputReport(ctx context.Context, pool *pgxpool.Pool) ([]OutputReport, error) {
	reports, err := readRows(ctx, pool, scanOutputReport, viewReportSQL)
	if err != nil {
		return nil, fmt.Errorf("read the state of the output partitions: %w", err)
	}
	return reports, nil
}

func scanOutputReport(rows pgx.Rows, r *OutputReport) error {
	var offset *int64
	var stop StopReport
	var at *time.Time
	err := rows.Scan(&r.Partition, &r.Next, &r.Applied, &r.Ignored, &offset, &stop.Reason, &stop.Detail, &at)
	if offset != nil {
		stop.Offset = *offset
		r.Stop = stop.with(&stop.Reason, at)
	}
	return err
}
