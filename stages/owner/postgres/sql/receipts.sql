-- The receipts with the identities $2, each of the owner in the same place of $1; each looked for by itself.
SELECT w.owner_id, r.receipt_id, r.effect_id, r.outcome, r.schema_version::text, r.codec_version::text, r.bytes,
       r.recorded_at, r.fence::text
FROM unnest($1::text[], $2::text[]) AS w (owner_id, receipt_id)
CROSS JOIN LATERAL (SELECT owner_no FROM owner WHERE owner_id = w.owner_id OFFSET 0) o
CROSS JOIN LATERAL (SELECT * FROM owner_receipt WHERE owner_no = o.owner_no AND receipt_id = w.receipt_id OFFSET 0) r
