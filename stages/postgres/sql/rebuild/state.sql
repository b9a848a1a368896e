-- Reads under the row lock, and so waits for a load in flight.
SELECT epoch, next_offset, member, stop_reason IS NOT NULL, accepted, rejected
FROM partition_state
WHERE partition = $1
FOR UPDATE
