-- $1 partition, $2 position before, $3 after, $4 applied, $5 ignored, $6 stopped.
UPDATE view_progress
SET next_offset = $3, applied = applied + $4, ignored = ignored + $5, stopped = $6, updated_at = now()
WHERE partition = $1 AND next_offset = $2
