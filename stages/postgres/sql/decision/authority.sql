SELECT key_id, txn_id, revision, kind, valid_time, qty, ambiguous, source_offset
FROM authority
WHERE key_id = $1 AND txn_id = $2
