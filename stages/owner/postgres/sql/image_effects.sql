SELECT e.effect_id, e.accepted_at, e.schema_version::text, e.codec_version::text, e.bytes,
       EXISTS (SELECT FROM owner_pending p WHERE p.kind = split_part(e.effect_id, '/', 1) AND p.seq = e.seq)
FROM owner_effect e JOIN owner o ON o.owner_no = e.owner_no
WHERE o.owner_id = $1
ORDER BY e.seq
