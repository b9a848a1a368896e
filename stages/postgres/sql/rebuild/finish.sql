-- The frontier of a loaded partition, under a fresh epoch; it affects one row exactly where the partition is untouched. The
-- generation stays below any of a consumer group, so that the first worker may install its own epoch (R16).
UPDATE partition_state
SET epoch = epoch + 1, member = $2, next_offset = $3, outbox_next = $4, accepted = $5, rejected = $6, updated_at = now()
WHERE partition = $1 AND epoch = 0 AND next_offset = 0 AND outbox_next = 1 AND stop_reason IS NULL
