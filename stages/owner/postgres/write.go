package postgres

import (
	_ "embed" // the SQL text
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/owner"
)

// What a transaction writes. Every statement is set-based: the number of statements does not depend on the number of
// owners.
var (
	//go:embed sql/insert_owner.sql
	insertOwnerSQL string
	//go:embed sql/update_owner.sql
	updateOwnerSQL string
	//go:embed sql/insert_event.sql
	insertEventSQL string
	//go:embed sql/replace_snapshot.sql
	replaceSnapshotSQL string
	//go:embed sql/insert_inbox.sql
	insertInboxSQL string
	//go:embed sql/insert_effect.sql
	insertEffectSQL string
	//go:embed sql/insert_pending.sql
	insertPendingSQL string
	//go:embed sql/settle.sql
	settleSQL string
	//go:embed sql/insert_receipt.sql
	insertReceiptSQL string
	//go:embed sql/replace_latest.sql
	replaceLatestSQL string
)

// queue adds the statements that write the changes. changes are sorted by owner ID. Owners are created first: where that
// fails, nothing else is tried.
func (u *unit) queue(batch *pgx.Batch, changes []*owner.Changes) error {
	if err := u.queueOwners(batch, changes); err != nil {
		return err
	}
	queueEvents(batch, changes, u.numbers)
	for _, rows := range []func(*pgx.Batch, []*owner.Changes) error{u.queueInbox, u.queueEffects, u.queueSettled, u.queueReceipts, u.queueLatest} {
		if err := rows(batch, changes); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) queueOwners(batch *pgx.Batch, changes []*owner.Changes) error {
	var created, changed struct {
		numbers, positions           []int64
		ids, modes, fences           []string
		schemaVersions, codecVersion []*string
	}
	for _, c := range changes {
		row := &c.Owner
		if c.Created {
			number, err := u.draw()
			if err != nil {
				return err
			}
			u.numbers[row.ID] = number
			created.numbers, created.ids = append(created.numbers, number), append(created.ids, row.ID)
			created.modes = append(created.modes, string(row.Mode))
			created.positions, created.fences = append(created.positions, int64(row.Position)), append(created.fences, formatUint64(row.Fence))
			schemas, codecs := formatSupported(row.Supported)
			created.schemaVersions, created.codecVersion = append(created.schemaVersions, schemas), append(created.codecVersion, codecs)
			continue
		}
		changed.numbers = append(changed.numbers, u.numbers[row.ID])
		changed.positions, changed.fences = append(changed.positions, int64(row.Position)), append(changed.fences, formatUint64(row.Fence))
	}
	if len(created.numbers) > 0 {
		batch.Queue(insertOwnerSQL, created.numbers, created.ids, created.modes, created.positions, created.fences,
			created.schemaVersions, created.codecVersion)
	}
	if len(changed.numbers) > 0 {
		batch.Queue(updateOwnerSQL, changed.numbers, changed.positions, changed.fences)
	}
	return nil
}

// queueEvents queues events and snapshots.
func queueEvents(batch *pgx.Batch, changes []*owner.Changes, numbers map[string]int64) {
	var events, snapshots struct {
		payloads
		numbers, positions []int64
	}
	for _, c := range changes {
		for i := range c.Events {
			events.add(&c.Events[i].Payload)
			events.numbers, events.positions = append(events.numbers, numbers[c.Owner.ID]), append(events.positions, int64(c.Events[i].Position))
		}
		if c.Snapshot != nil {
			snapshots.add(&c.Snapshot.Payload)
			snapshots.numbers = append(snapshots.numbers, numbers[c.Owner.ID])
			snapshots.positions = append(snapshots.positions, int64(c.Snapshot.Position))
		}
	}
	if len(events.numbers) > 0 {
		batch.Queue(insertEventSQL, events.numbers, events.positions, events.schemas, events.codecs, events.bytes)
	}
	if len(snapshots.numbers) > 0 {
		batch.Queue(replaceSnapshotSQL, snapshots.numbers, snapshots.positions, snapshots.schemas, snapshots.codecs, snapshots.bytes)
	}
}

func (u *unit) queueInbox(batch *pgx.Batch, changes []*owner.Changes) error {
	var numbers, through, sequences []int64
	var ids []string
	var fingerprints, digests [][]byte
	for _, c := range changes {
		for i := range c.Completed {
			row := &c.Completed[i]
			seq, err := u.draw()
			if err != nil {
				return err
			}
			numbers, ids, sequences = append(numbers, u.numbers[c.Owner.ID]), append(ids, row.ID), append(sequences, seq)
			fingerprints, digests = append(fingerprints, notNull(row.Fingerprint)), append(digests, row.Digest[:])
			through = append(through, int64(row.CommittedThrough))
		}
	}
	if len(ids) > 0 {
		batch.Queue(insertInboxSQL, numbers, ids, fingerprints, digests, through, sequences)
	}
	return nil
}

// queueEffects queues effects, and those of them that are pending.
func (u *unit) queueEffects(batch *pgx.Batch, changes []*owner.Changes) error {
	var all, pending struct {
		payloads
		numbers, acceptedAt, sequences []int64
		ids                            []string
	}
	for _, c := range changes {
		for i := range c.Effects {
			e := &c.Effects[i]
			seq, err := u.draw()
			if err != nil {
				return err
			}
			number := u.numbers[c.Owner.ID]
			all.add(&e.Payload)
			all.numbers, all.ids, all.sequences = append(all.numbers, number), append(all.ids, e.ID), append(all.sequences, seq)
			all.acceptedAt = append(all.acceptedAt, int64(e.AcceptedAt))
			if e.Pending {
				pending.numbers, pending.ids = append(pending.numbers, number), append(pending.ids, e.ID)
				pending.sequences = append(pending.sequences, seq)
			}
		}
	}
	if len(all.ids) > 0 {
		batch.Queue(insertEffectSQL, all.numbers, all.ids, all.acceptedAt, all.schemas, all.codecs, all.bytes, all.sequences)
	}
	if len(pending.ids) > 0 {
		batch.Queue(insertPendingSQL, pending.numbers, pending.ids, pending.sequences)
	}
	return nil
}

// queueSettled takes earlier effects out of the pending ones.
func (u *unit) queueSettled(batch *pgx.Batch, changes []*owner.Changes) error {
	var ids []string
	var sequences []int64
	for _, c := range changes {
		for _, id := range c.Settled {
			seq, read := u.effects[effectKey{c.Owner.ID, id}]
			if !read {
				return invariant.Violated("effect %q of owner %q is settled and was not read", id, c.Owner.ID)
			}
			ids, sequences = append(ids, id), append(sequences, seq)
		}
	}
	if len(ids) > 0 {
		batch.Queue(settleSQL, ids, sequences)
	}
	return nil
}

func (u *unit) queueReceipts(batch *pgx.Batch, changes []*owner.Changes) error {
	var columns payloads
	var numbers, recordedAt, sequences []int64
	var ids, effects, outcomes, fences []string
	for _, c := range changes {
		for i := range c.Receipts {
			r := &c.Receipts[i]
			seq, err := u.draw()
			if err != nil {
				return err
			}
			columns.add(&r.Payload)
			numbers, ids, sequences = append(numbers, u.numbers[c.Owner.ID]), append(ids, r.ID), append(sequences, seq)
			effects, outcomes = append(effects, r.EffectID), append(outcomes, r.Outcome)
			recordedAt, fences = append(recordedAt, int64(r.RecordedAt)), append(fences, formatUint64(r.Fence))
		}
	}
	if len(ids) > 0 {
		batch.Queue(insertReceiptSQL, numbers, ids, effects, outcomes, columns.schemas, columns.codecs, columns.bytes, recordedAt, fences, sequences)
	}
	return nil
}

func (u *unit) queueLatest(batch *pgx.Batch, changes []*owner.Changes) error {
	var numbers, sequences []int64
	var values [][]byte
	for _, c := range changes {
		if c.Latest == nil {
			continue
		}
		seq, err := u.draw()
		if err != nil {
			return err
		}
		numbers, values, sequences = append(numbers, u.numbers[c.Owner.ID]), append(values, c.Latest.Bytes), append(sequences, seq)
	}
	if len(numbers) > 0 {
		batch.Queue(replaceLatestSQL, numbers, values, sequences)
	}
	return nil
}

// payloads are the columns of payloads.
type payloads struct {
	schemas, codecs []string
	bytes           [][]byte
}

func (p *payloads) add(payload *owner.Payload) {
	p.schemas, p.codecs = append(p.schemas, formatUint64(payload.SchemaVersion)), append(p.codecs, formatUint64(payload.CodecVersion))
	p.bytes = append(p.bytes, notNull(payload.Bytes))
}

// notNull makes nil bytes empty ones: no column of this layout tells them apart.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func formatUint64(n uint64) string { return strconv.FormatUint(n, 10) }

// formatSupported gives two arrays as SQL writes them, null for all versions.
func formatSupported(s *owner.Supported) (schemas, codecs *string) {
	if s == nil {
		return nil, nil
	}
	list := func(versions []uint64) *string {
		texts := make([]string, len(versions))
		for i, v := range versions {
			texts[i] = formatUint64(v)
		}
		joined := "{" + strings.Join(texts, ",") + "}"
		return &joined
	}
	return list(s.SchemaVersions), list(s.CodecVersions)
}
