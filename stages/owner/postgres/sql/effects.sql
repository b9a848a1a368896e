-- The effects with the identities $2, each of the owner in the same place of $1.
SELECT o.owner_id, e.effect_id, e.accepted_at, e.schema_version::text, e.codec_version::text, e.bytes, e.seq,
       EXISTS (SELECT FROM owner_pending p WHERE p.kind = split_part(e.effect_id, '/', 1) AND p.seq = e.seq)
FROM unnest($1::text[], $2::text[]) AS w (owner_id, effect_id)
JOIN owner o ON o.owner_id = w.owner_id
JOIN owner_effect e ON e.owner_no = o.owner_no AND e.effect_id = w.effect_id
