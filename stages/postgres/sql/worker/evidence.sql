SELECT e.key_id, e.txn_id, e.revision, e.kind, e.valid_time, e.qty, e.source_offset
FROM unnest($1::integer[], $2::text[], $3::bigint[]) AS r (key_id, txn_id, revision)
JOIN evidence e USING (key_id, txn_id, revision)
