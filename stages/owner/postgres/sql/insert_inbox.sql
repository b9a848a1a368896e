INSERT INTO owner_inbox (owner_no, inbox_id, fingerprint, digest, committed_through, seq)
SELECT *
FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[])
