-- Each is looked for by itself, by its place: the table is empty most of the time, and what is best then reads all of it.
-- Both indexes have a condition on all of their key.
DELETE FROM owner_pending
WHERE ctid = ANY (ARRAY(
    SELECT p.ctid
    FROM unnest($1::text[], $2::bigint[]) AS c (effect_id, seq)
    CROSS JOIN LATERAL (
        SELECT ctid FROM owner_pending
        WHERE kind = split_part(c.effect_id, '/', 1) COLLATE "C" AND lane = split_part(c.effect_id, '/', 1) COLLATE "C" || '/'
            || split_part(c.effect_id, '/', 2) || '/' || split_part(c.effect_id, '/', 3) AND seq = c.seq OFFSET 0) p))
