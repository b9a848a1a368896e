-- Reads under the row lock, and so waits for a unit of work or an installation in flight (R15).
SELECT epoch, member, generation, next_offset, stop_reason, coalesce(stop_offset, 0), coalesce(stop_detail, '')
FROM partition_state
WHERE partition = $1
FOR UPDATE
