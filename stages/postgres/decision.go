package postgres

import (
	"context"
	_ "embed" // the SQL text
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/ledger"
)

// The statements that find out what became of a record.
var (
	//go:embed sql/decision/frontier.sql
	decisionFrontierSQL string
	//go:embed sql/decision/authority.sql
	decisionAuthoritySQL string
	//go:embed sql/decision/row_at.sql
	decisionRowAtSQL string
)

// Decisions implements intake.Decisions on a namespace's processing state. It is safe for concurrent use.
type Decisions struct {
	pool   *Pool
	config *ledger.Config
}

// NewDecisions reads over a pool whose search_path is the namespace's state schema.
func NewDecisions(pool *Pool, config *ledger.Config) *Decisions {
	return &Decisions{pool: pool, config: config}
}

var _ intake.Decisions = (*Decisions)(nil)

// Decision implements intake.Decisions, in one snapshot.
func (d *Decisions) Decision(ctx context.Context, at intake.Coordinates, value []byte) (*intake.Decision, error) {
	var decision *intake.Decision
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, d.pool, options, func(tx pgx.Tx) (err error) {
		decision, err = d.read(ctx, tx, at, value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what became of record %d/%d: %w", at.Partition, at.Offset, err)
	}
	return decision, nil
}

func (d *Decisions) read(ctx context.Context, tx pgx.Tx, at intake.Coordinates, value []byte) (*intake.Decision, error) {
	var frontier, end int64
	var reason *string
	if err := tx.QueryRow(ctx, decisionFrontierSQL, at.Partition, at.Offset).Scan(&frontier, &end, &reason); err != nil {
		return nil, classify(err)
	}
	if frontier <= at.Offset {
		return nil, nil
	}
	if reason != nil {
		return &intake.Decision{Outcome: intake.Quarantined, Reason: *reason}, nil
	}
	record := intake.NewRecord(value, d.config.Namespace().Spec.Source.Partitions)
	transaction, rejected := d.config.Decode(ledger.Record{
		Partition: at.Partition, Offset: at.Offset, Key: record.Key, Value: record.Value,
	})
	if rejected != ledger.ReasonNone {
		return nil, invariant.Violated("it was accepted, and is %s", rejected)
	}
	authority, err := d.authority(ctx, tx, at, transaction)
	if err != nil {
		return nil, err
	}
	outputs, err := d.outputs(ctx, tx, at, end)
	if err != nil {
		return nil, err
	}
	return &intake.Decision{Outcome: intake.Accepted, Authority: authority, Outputs: outputs}, nil
}

// authority says what a record's revision counts at present.
func (d *Decisions) authority(ctx context.Context, tx pgx.Tx, at intake.Coordinates, t ledger.Transaction) (string, error) {
	rows, err := readRows(ctx, tx, scanAuthority, decisionAuthoritySQL, t.KeyID, t.TxnID)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || rows[0].Payload.Revision < t.Payload.Revision {
		return "", invariant.Violated("revision %d was accepted and its identity has %d authority rows", t.Payload.Revision, len(rows))
	}
	switch row := rows[0]; {
	case row.Payload.Revision > t.Payload.Revision:
		return intake.Superseded, nil
	case row.Ambiguous || row.Payload != t.Payload:
		return intake.Conflicting, nil
	case row.SourceOffset != at.Offset:
		return intake.Repeated, nil
	}
	return intake.Current, nil
}

// attributed is an envelope with the record that it names.
type attributed struct {
	OutputID json.RawMessage `json:"output_id"`
	Type     string          `json:"type"`
	Version  int64           `json:"version"`
	Source   struct {
		Offset int64 `json:"offset"`
	} `json:"source"`
}

// decidedRow is one row of the outbox, read.
type decidedRow struct {
	first     int64
	envelopes []attributed
	// least and most are the offsets that the row's envelopes name.
	least, most int64
}

// outputs finds the envelopes that name a record. Units of work follow each other in the order of offsets, and so do the
// rows of the outbox; only rows of one unit of work overlap.
func (d *Decisions) outputs(ctx context.Context, tx pgx.Tx, at intake.Coordinates, end int64) ([]intake.Output, error) {
	var first *decidedRow
	for low, high := int64(1), end; low < high; {
		row, err := rowAt(ctx, tx, at.Partition, low+(high-low)/2)
		if err != nil {
			return nil, err
		}
		switch {
		case row == nil:
			return nil, nil
		case row.most >= at.Offset:
			first, high = row, row.first
		default:
			low = row.first + int64(len(row.envelopes))
		}
	}
	var outputs []intake.Output
	for row := first; row != nil && row.least <= at.Offset; {
		for _, e := range row.envelopes {
			if e.Source.Offset == at.Offset {
				outputs = append(outputs, intake.Output{OutputID: outputText(e.OutputID), Type: e.Type, Version: e.Version})
			}
		}
		next := row.first + int64(len(row.envelopes))
		if next >= end {
			break
		}
		var err error
		if row, err = rowAt(ctx, tx, at.Partition, next); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// outputText is an output's identity as text: the canonical array, however the envelope holds it.
func outputText(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	return string(raw)
}

// rowAt reads the row of the outbox that holds a sequence; nil where there is none.
func rowAt(ctx context.Context, tx pgx.Tx, partition int32, seq int64) (*decidedRow, error) {
	row := &decidedRow{least: math.MaxInt64}
	var count int32
	var data []byte
	err := tx.QueryRow(ctx, decisionRowAtSQL, partition, seq).Scan(&row.first, &count, &data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err)
	}
	frames, err := readFrames(data, int(count))
	if err != nil {
		return nil, invariant.Violated("outbox row %d of partition %d: %v", row.first, partition, err)
	}
	for _, frame := range frames {
		var e attributed
		if err := json.Unmarshal(frame.Value, &e); err != nil {
			return nil, invariant.Violated("outbox row %d of partition %d: %v", row.first, partition, err)
		}
		row.envelopes = append(row.envelopes, e)
		row.least, row.most = min(row.least, e.Source.Offset), max(row.most, e.Source.Offset)
	}
	return row, nil
}
