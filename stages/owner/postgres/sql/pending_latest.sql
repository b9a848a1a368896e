SELECT l.bytes
FROM owner_latest l
JOIN owner o ON o.owner_no = l.owner_no
WHERE l.pending_seq IS NOT NULL AND starts_with(o.owner_id, $1)
ORDER BY l.pending_seq
LIMIT $2
