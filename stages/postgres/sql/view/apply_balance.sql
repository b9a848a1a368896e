-- Each output ID once: a statement that names one twice fails (B044). The version can only rise.
INSERT INTO balance AS b (key_id, day, version, content, present, close)
SELECT w.key_id, DATE '1970-01-01' + w.day, w.version, w.content, w.present, w.close
FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bytea[], $5::boolean[], $6::bigint[])
    AS w (key_id, day, version, content, present, close)
ON CONFLICT (key_id, day) DO UPDATE
SET version = excluded.version, content = excluded.content, present = excluded.present, close = excluded.close
WHERE b.version < excluded.version
