INSERT INTO owner_event (owner_no, position, schema_version, codec_version, bytes)
SELECT c.owner_no, c.position, c.schema_version::numeric, c.codec_version::numeric, c.bytes
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[])
    AS c (owner_no, position, schema_version, codec_version, bytes)
