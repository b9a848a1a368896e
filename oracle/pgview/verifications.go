package pgview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/report"
)

// keptBytesMax bounds a report that is kept. Its size grows with the rejections and conflicts of the history.
const keptBytesMax = 64 << 20

// ErrNotKept is wrapped where no report has the number asked for.
var ErrNotKept = errors.New("no such verification is kept")

// Verification is a kept report as lists show it.
type Verification struct {
	Number    int64  `json:"number"`
	Namespace string `json:"namespace"`
	Status    string `json:"status"`
	ExitCode  int    `json:"exitCode"`
	// VerifiedAt is when the report was kept: RFC 3339, UTC.
	VerifiedAt string `json:"verifiedAt"`
	// Records and Differences are those of the report's counts, nil where nothing was compared.
	Records     *int64 `json:"records"`
	Differences *int64 `json:"differences"`
}

// Keep keeps a report and sets the number under which it is kept, which is then part of it. Where that is not possible,
// the report says so and why: a verdict does not depend on its being kept.
func (d *DB) Keep(ctx context.Context, r *report.Report) {
	r.Kept, r.NotKept = 0, ""
	err := pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT nextval($1::text::regclass)`, table(catalogSchema, "verification_number")).Scan(&r.Kept); err != nil {
			return err
		}
		var document bytes.Buffer
		if err := report.JSON(&document, r); err != nil {
			return err
		}
		if document.Len() > keptBytesMax {
			return fmt.Errorf("it has %d bytes, more than %d", document.Len(), keptBytesMax)
		}
		var records, differences *int64
		if r.Compared() {
			records, differences = &r.Counts.Records, &r.Counts.Differences
		}
		_, err := tx.Exec(ctx, `INSERT INTO `+table(catalogSchema, "verification")+` (number, namespace, status, exit_code, records, differences, report)
			VALUES ($1, $2, $3, $4, $5, $6, $7::text::json)`, r.Kept, r.Namespace, string(r.Status), int(r.ExitCode),
			records, differences, document.String())
		return err
	})
	if err == nil {
		return
	}
	r.Kept = 0
	switch {
	case denied(err):
		r.NotKept = "this database role may not keep reports"
	case absent(err):
		r.NotKept = "the catalog of this database has no table of verifications"
	default:
		r.NotKept = err.Error()
	}
}

// Verifications lists kept reports by number, the last ones where there are more than limit (0: all); the empty namespace
// means all.
func (d *DB) Verifications(ctx context.Context, namespace string, limit int) ([]Verification, error) {
	var bound *int
	if limit > 0 {
		bound = &limit
	}
	scan := func(rows pgx.Rows, v *Verification) error {
		var at time.Time
		err := rows.Scan(&v.Number, &v.Namespace, &v.Status, &v.ExitCode, &at, &v.Records, &v.Differences)
		v.VerifiedAt = at.UTC().Format(time.RFC3339)
		return err
	}
	all, err := collect(stream(ctx, d.pool, "the kept verifications", scan, `SELECT * FROM (
			SELECT number, namespace, status, exit_code, verified_at, records, differences
			FROM `+table(catalogSchema, "verification")+` WHERE $1 = '' OR namespace = $1 ORDER BY number DESC LIMIT $2
		) AS last ORDER BY number`, namespace, bound))
	if absent(err) {
		return nil, nil
	}
	return all, err
}

// Verification returns a kept report, byte for byte as it was printed as JSON. The error wraps ErrNotKept where there is
// none.
func (d *DB) Verification(ctx context.Context, number int64) ([]byte, error) {
	var document string
	err := d.pool.QueryRow(ctx, `SELECT report::text FROM `+table(catalogSchema, "verification")+` WHERE number = $1`, number).Scan(&document)
	switch {
	case absent(err) || errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("%w: %d", ErrNotKept, number)
	case err != nil:
		return nil, fmt.Errorf("read verification %d: %w", number, err)
	}
	return []byte(document), nil
}
