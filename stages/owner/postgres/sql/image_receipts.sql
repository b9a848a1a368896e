SELECT r.receipt_id, r.effect_id, r.outcome, r.schema_version::text, r.codec_version::text, r.bytes, r.recorded_at, r.fence::text
FROM owner_receipt r JOIN owner o ON o.owner_no = r.owner_no
WHERE o.owner_id = $1
ORDER BY r.seq
