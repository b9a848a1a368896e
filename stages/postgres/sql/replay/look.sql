-- Reads the row of partition $1 without its lock: looking touches nothing.
SELECT epoch, member, generation, next_offset, stop_reason, coalesce(stop_offset, 0), coalesce(stop_detail, '')
FROM partition_state
WHERE partition = $1
