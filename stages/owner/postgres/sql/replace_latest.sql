-- A pending value is replaced in place and keeps its turn; a published one becomes pending anew.
INSERT INTO owner_latest AS l (owner_no, bytes, pending_seq)
SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[])
ON CONFLICT (owner_no) DO UPDATE
SET bytes = excluded.bytes, pending_seq = coalesce(l.pending_seq, excluded.pending_seq)
