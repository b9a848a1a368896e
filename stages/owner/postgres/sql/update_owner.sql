UPDATE owner o
SET position = c.position, fence = c.fence::numeric
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS c (owner_no, position, fence)
WHERE o.owner_no = c.owner_no
