package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
)

// The statements of a rebuild, beside its COPYs.
var (
	//go:embed sql/rebuild/state.sql
	rebuildStateSQL string
	//go:embed sql/rebuild/finish.sql
	rebuildFinishSQL string
)

// RebuildStore implements rebuild.Store over the state schema of one namespace. It is safe for concurrent use.
type RebuildStore struct {
	pool    *pgxpool.Pool
	topicID string
}

var _ rebuild.Store = (*RebuildStore)(nil)

// NewRebuildStore returns the store over a pool whose search_path is the namespace's state schema. sourceTopicID is
// recorded with quarantined records (S4).
func NewRebuildStore(pool *pgxpool.Pool, sourceTopicID string) *RebuildStore {
	return &RebuildStore{pool: pool, topicID: sourceTopicID}
}

// State implements rebuild.Store.
func (s *RebuildStore) State(ctx context.Context, partition int32) (rebuild.State, error) {
	state, err := rebuildState(ctx, s.pool, partition)
	if err != nil {
		return state, fmt.Errorf("read the state of partition %d: %w", partition, classify(err))
	}
	return state, nil
}

func rebuildState(ctx context.Context, q querier, partition int32) (rebuild.State, error) {
	var state rebuild.State
	err := q.QueryRow(ctx, rebuildStateSQL, partition).Scan(&state.Epoch, &state.NextOffset, &state.Member, &state.Stopped, &state.Accepted, &state.Rejected)
	return state, err
}

// Load implements rebuild.Store: one transaction of one COPY for each table, its row lock first.
func (s *RebuildStore) Load(ctx context.Context, load rebuild.Load) error {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)
	state, err := rebuildState(ctx, tx, load.Partition)
	if err != nil {
		return fmt.Errorf("lock: %w", classify(err))
	}
	if state.Epoch != 0 || state.NextOffset != 0 || state.Stopped {
		return fmt.Errorf("%w: epoch %d, frontier %d", rebuild.ErrNotEmpty, state.Epoch, state.NextOffset)
	}
	outboxNext, err := s.copy(ctx, tx, &load)
	if err != nil {
		return classify(err)
	}
	tag, err := tx.Exec(ctx, rebuildFinishSQL, load.Partition, load.Member, load.NextOffset, outboxNext, load.Accepted, load.Rejected)
	if err != nil {
		return fmt.Errorf("set the frontier: %w", classify(err))
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("set the frontier: %w", rebuild.ErrNotEmpty)
	}
	return commit(ctx, tx)
}

// copy writes all tables and returns the next outbox sequence.
func (s *RebuildStore) copy(ctx context.Context, tx pgx.Tx, load *rebuild.Load) (int64, error) {
	pack := packer{next: 1}
	err := copyAll(ctx, tx, []*copying{
		table("authority", authorityColumns, load.Authority, encodeAuthority),
		table("evidence", evidenceColumns, load.Evidence, encodeEvidence),
		table("conflict", conflictColumns, load.Conflicts, encodeConflict),
		table("day_state", dayColumns, load.Days, encodeDay),
		table("key_state", keyColumns, load.Keys, encodeKey),
		table("quarantine", quarantineColumns, load.Quarantine, func(b *binaryRow, q *ledger.QuarantineRow) {
			encodeQuarantine(b, load.Partition, s.topicID, q)
		}),
		table("outbox", outboxColumns, packRows(&pack, load.Envelopes), func(b *binaryRow, p *packed) {
			b.int32(load.Partition)
			b.int64(p.first)
			b.int32(p.count)
			b.bytes(p.frames)
		}),
	})
	return pack.next, err
}

// packRows packs envelopes and yields each row as soon as it is full.
func packRows(pack *packer, envelopes iter.Seq2[ledger.Envelope, error]) iter.Seq2[packed, error] {
	return func(yield func(packed, error) bool) {
		for e, err := range envelopes {
			if err != nil {
				yield(packed{}, err)
				return
			}
			pack.expect = maxFramesBytes
			pack.add(Frame{Key: e.Key, Value: e.Value})
			if len(pack.rows) < 2 {
				continue
			}
			full := pack.rows[0]
			pack.rows[0] = pack.rows[1]
			pack.rows = pack.rows[:1]
			if !yield(full, nil) {
				return
			}
		}
		for _, last := range pack.rows {
			if !yield(last, nil) {
				return
			}
		}
	}
}
