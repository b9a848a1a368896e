-- The receipts of the effects with the identities $2, each of the owner in the same place of $1.
SELECT o.owner_id, r.receipt_id, r.effect_id, r.outcome, r.schema_version::text, r.codec_version::text, r.bytes,
       r.recorded_at, r.fence::text
FROM unnest($1::text[], $2::text[]) AS w (owner_id, effect_id)
JOIN owner o ON o.owner_id = w.owner_id
JOIN owner_receipt r ON r.owner_no = o.owner_no AND r.effect_id = w.effect_id
