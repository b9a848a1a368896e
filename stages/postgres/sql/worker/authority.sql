SELECT a.key_id, a.txn_id, a.revision, a.kind, a.valid_time, a.qty, a.ambiguous, a.source_offset
FROM unnest($1::integer[], $2::text[]) AS r (key_id, txn_id)
JOIN authority a USING (key_id, txn_id)
