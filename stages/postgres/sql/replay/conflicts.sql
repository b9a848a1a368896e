SELECT c.key_id, c.txn_id, c.revision, c.detected_offset
FROM unnest($1::integer[], $2::text[], $3::bigint[]) AS r (key_id, txn_id, revision)
JOIN conflict c USING (key_id, txn_id, revision)
