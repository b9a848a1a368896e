UPDATE authority a
SET revision = c.revision, kind = c.kind, valid_time = c.valid_time, qty = c.qty, ambiguous = c.ambiguous,
    source_offset = c.source_offset
FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bigint[], $7::boolean[],
            $8::bigint[])
    AS c (key_id, txn_id, revision, kind, valid_time, qty, ambiguous, source_offset)
WHERE a.key_id = c.key_id AND a.txn_id = c.txn_id
