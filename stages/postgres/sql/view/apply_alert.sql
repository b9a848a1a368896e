INSERT INTO alert AS a (key_id, day, version, content, present, close, threshold)
SELECT w.key_id, DATE '1970-01-01' + w.day, w.version, w.content, w.present, w.close, w.threshold
FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bytea[], $5::boolean[], $6::bigint[], $7::bigint[])
    AS w (key_id, day, version, content, present, close, threshold)
ON CONFLICT (key_id, day) DO UPDATE
SET version = excluded.version, content = excluded.content, present = excluded.present, close = excluded.close,
    threshold = excluded.threshold
WHERE a.version < excluded.version
