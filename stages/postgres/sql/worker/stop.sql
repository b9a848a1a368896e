-- $1 partition, $2 epoch, $3 frontier, $4 reason, $5 offset, $6 detail.
UPDATE partition_state
SET stop_reason = $4, stop_offset = $5, stop_detail = $6, stopped_at = now(), updated_at = now()
WHERE partition = $1 AND epoch = $2 AND next_offset = $3
