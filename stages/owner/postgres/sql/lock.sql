-- The rows of the owners $1, locked in the order of their identities, so that no two transactions lock each other out.
SELECT owner_no, owner_id, mode, position, fence::text, schema_versions::text[], codec_versions::text[]
FROM owner
WHERE owner_id = ANY ($1::text[])
ORDER BY owner_id
FOR UPDATE
