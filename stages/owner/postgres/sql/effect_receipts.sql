-- The receipts of the effects with the identities $2, each of the owner in the same place of $1. Each is looked for by itself,
-- in this order: to look for a receipt by its effect alone is cheap in a table that is empty when it is planned.
SELECT w.owner_id, r.receipt_id, r.effect_id, r.outcome, r.schema_version::text, r.codec_version::text, r.bytes,
       r.recorded_at, r.fence::text
FROM unnest($1::text[], $2::text[]) AS w (owner_id, effect_id)
CROSS JOIN LATERAL (SELECT owner_no FROM owner WHERE owner_id = w.owner_id OFFSET 0) o
CROSS JOIN LATERAL (SELECT * FROM owner_receipt WHERE owner_no = o.owner_no AND effect_id = w.effect_id OFFSET 0) r
