-- Compare-and-swap on epoch and generation (R16). $1 partition, $2 expected epoch, $3 member, $4 generation, $5 take over.
UPDATE partition_state
SET epoch = epoch + 1, member = $3, generation = $4, updated_at = now()
WHERE partition = $1 AND epoch = $2
  AND ($5 OR generation < $4 OR (generation = $4 AND member = $3))
RETURNING epoch, member, generation, next_offset, stop_reason, coalesce(stop_offset, 0), coalesce(stop_detail, '')
