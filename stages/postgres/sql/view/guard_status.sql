SELECT g.key_id, 0, g.version, g.content
FROM key_status g
WHERE g.key_id = ANY ($1::integer[])
