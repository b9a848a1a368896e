INSERT INTO owner_pending (owner_no, effect_id, seq)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
