SELECT key_id, status_version, conflict_txns, conflict_revisions
FROM key_state
WHERE key_id = ANY ($1::integer[])
