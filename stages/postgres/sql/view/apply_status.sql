-- The reason sets of all keys lie one after another in $6 and $7; each key names its slice, empty for READY.
INSERT INTO key_status AS s (key_id, version, content, status, conflict_txns, conflict_revisions)
SELECT w.key_id, w.version, w.content, CASE WHEN w.first <= w.last THEN 'BLOCKED' ELSE 'READY' END,
    ($6::text[])[w.first:w.last], ($7::bigint[])[w.first:w.last]
FROM unnest($1::integer[], $2::bigint[], $3::bytea[], $4::integer[], $5::integer[])
    AS w (key_id, version, content, first, last)
ON CONFLICT (key_id) DO UPDATE
SET version = excluded.version, content = excluded.content, status = excluded.status,
    conflict_txns = excluded.conflict_txns, conflict_revisions = excluded.conflict_revisions
WHERE s.version < excluded.version
