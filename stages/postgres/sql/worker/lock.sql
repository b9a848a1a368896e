-- The first statement of every unit of work (B033).
SELECT epoch, next_offset, outbox_next, stop_reason
FROM partition_state
WHERE partition = $1
FOR UPDATE
