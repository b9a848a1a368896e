UPDATE owner_latest l
SET pending_seq = NULL
FROM owner o
WHERE o.owner_no = l.owner_no AND o.owner_id = $1 AND l.bytes = $2
