DELETE FROM owner_pending p
USING unnest($1::text[], $2::bigint[]) AS c (effect_id, seq)
WHERE p.kind = split_part(c.effect_id, '/', 1) COLLATE "C" AND p.seq = c.seq
