-- In the order of identities, as locks are taken. One that another transaction has created meanwhile violates
-- owner_id_unique; everything is then decided anew.
INSERT INTO owner (owner_no, owner_id, mode, position, fence, schema_versions, codec_versions)
SELECT c.owner_no, c.owner_id, c.mode, c.position, c.fence::numeric, c.schema_versions::numeric[], c.codec_versions::numeric[]
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[])
    AS c (owner_no, owner_id, mode, position, fence, schema_versions, codec_versions)
ORDER BY c.owner_id COLLATE "C"
