-- Everything else that a unit of work writes, and its frontier, in one statement; $1 partition, $2 epoch, $3 frontier
-- before. It affects one row exactly where the fence holds.
WITH new_outbox AS (
    INSERT INTO outbox (partition, first_seq, count, frames)
    SELECT $1, o.first_seq, o.count, o.frames
    FROM unnest($8::bigint[], $9::integer[], $10::bytea[]) AS o (first_seq, count, frames)
), new_quarantine AS (
    INSERT INTO quarantine (partition, source_offset, topic_id, reason, key, value, key_length, value_length,
                            key_sha256, value_sha256)
    SELECT $1, q.source_offset, $11, q.reason, q.key, q.value, q.key_length, q.value_length, q.key_sha256,
           q.value_sha256
    FROM unnest($12::bigint[], $13::text[], $14::bytea[], $15::bytea[], $16::bigint[], $17::bigint[], $18::bytea[],
                $19::bytea[])
        AS q (source_offset, reason, key, value, key_length, value_length, key_sha256, value_sha256)
), new_conflict AS (
    INSERT INTO conflict (key_id, txn_id, revision, detected_offset)
    SELECT c.key_id, c.txn_id, c.revision, c.detected_offset
    FROM unnest($20::integer[], $21::text[], $22::bigint[], $23::bigint[])
        AS c (key_id, txn_id, revision, detected_offset)
), new_status AS (
    -- The reason sets of all keys lie one after another in $28 and $29; each key names its slice.
    INSERT INTO key_state AS k (key_id, status_version, conflict_txns, conflict_revisions)
    SELECT s.key_id, s.status_version, ($28::text[])[s.first:s.last], ($29::bigint[])[s.first:s.last]
    FROM unnest($24::integer[], $25::bigint[], $26::integer[], $27::integer[])
        AS s (key_id, status_version, first, last)
    ON CONFLICT (key_id) DO UPDATE
    SET status_version = excluded.status_version, conflict_txns = excluded.conflict_txns,
        conflict_revisions = excluded.conflict_revisions
)
UPDATE partition_state
SET next_offset = $4, outbox_next = $5, accepted = accepted + $6, rejected = rejected + $7, updated_at = now()
WHERE partition = $1 AND epoch = $2 AND next_offset = $3
