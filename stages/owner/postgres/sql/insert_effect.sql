INSERT INTO owner_effect (owner_no, effect_id, accepted_at, schema_version, codec_version, bytes, seq)
SELECT c.owner_no, c.effect_id, c.accepted_at, c.schema_version::numeric, c.codec_version::numeric, c.bytes, c.seq
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bigint[])
    AS c (owner_no, effect_id, accepted_at, schema_version, codec_version, bytes, seq)
