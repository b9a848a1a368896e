-- Clears the stop of partition $1 that was looked into: at output offset $2, reason $3 (R36). The row of progress is what
-- every unit of work locks, so it is changed with the violation.
WITH cleared AS (
    DELETE FROM protocol_violation WHERE partition = $1 AND output_offset = $2 AND reason = $3 RETURNING partition
)
UPDATE view_progress p SET stopped = false, updated_at = now()
FROM cleared c WHERE p.partition = c.partition AND p.stopped
