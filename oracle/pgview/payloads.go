package pgview

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

var _ verify.Contents = evidence{}

// Payloads implements verify.Contents. Rows of a conflict are found by the index; the rest of the table is not read.
func (e evidence) Payloads(ctx context.Context, of []projection.Conflict) iter.Seq2[compare.Payload, error] {
	items, locations, txns, revisions := make([]string, len(of)), make([]string, len(of)), make([]string, len(of)), make([]int64, len(of))
	for i, c := range of {
		items[i], locations[i], txns[i], revisions[i] = c.Item, c.Location, c.TxnID, c.Revision
	}
	return stream(ctx, e.tx, "the evidence of conflicts", scanPayload, `SELECT c.item, c.location, c.txn_id, c.revision, e.kind, e.valid_time, e.qty, e.source_offset
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS c (item, location, txn_id, revision)
		JOIN `+table(e.schema, "stock_key")+` k ON (k.item, k.location) = (c.item, c.location)
		JOIN `+table(e.schema, "evidence")+` e ON (e.key_id, e.txn_id, e.revision) = (k.key_id, c.txn_id, c.revision)`,
		items, locations, txns, revisions)
}

// scanPayload reads one row of evidence.
func scanPayload(rows pgx.Rows, p *compare.Payload) error {
	var kind int16
	var validTime, qty int64
	if err := rows.Scan(&p.Item, &p.Location, &p.TxnID, &p.Revision, &kind, &validTime, &qty, &p.Offset); err != nil {
		return err
	}
	name, known := map[int16]string{1: "NEW", 2: "AMEND", 3: "CANCEL"}[kind]
	if !known { // no payload has it, so that it is found to differ
		name = fmt.Sprintf("kind %d", kind)
	}
	p.Canonical = diagnostics.Canonical(p.Item, p.Location, p.TxnID, p.Revision, name, validTime, qty)
	return nil
}
