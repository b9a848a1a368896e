-- Clears the stop of partition $1 that was looked into: epoch $2, reason $3, offset $4 (R36).
UPDATE partition_state
SET stop_reason = NULL, stop_offset = NULL, stop_detail = NULL, stopped_at = NULL, updated_at = now()
WHERE partition = $1 AND epoch = $2 AND stop_reason = $3 AND stop_offset = $4
