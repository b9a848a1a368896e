-- The effects with the identities $2, each of the owner in the same place of $1; each looked for by itself. Both indexes of
-- what is pending have a condition on all of their key.
SELECT w.owner_id, e.effect_id, e.accepted_at, e.schema_version::text, e.codec_version::text, e.bytes, e.seq, p.seq IS NOT NULL
FROM unnest($1::text[], $2::text[]) AS w (owner_id, effect_id)
CROSS JOIN LATERAL (SELECT owner_no FROM owner WHERE owner_id = w.owner_id OFFSET 0) o
CROSS JOIN LATERAL (SELECT * FROM owner_effect WHERE owner_no = o.owner_no AND effect_id = w.effect_id OFFSET 0) e
LEFT JOIN LATERAL (
    SELECT seq FROM owner_pending
    WHERE kind = split_part(e.effect_id, '/', 1) AND lane = split_part(e.effect_id, '/', 1) || '/' || split_part(e.effect_id, '/', 2)
        || '/' || split_part(e.effect_id, '/', 3) AND seq = e.seq OFFSET 0) p ON true
