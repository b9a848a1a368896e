-- $1 partition, $2 offset: the frontier, the next outbox sequence, and why the record was rejected, where it was.
SELECT s.next_offset, s.outbox_next, q.reason
FROM partition_state s
LEFT JOIN quarantine q ON q.partition = s.partition AND q.source_offset = $2
WHERE s.partition = $1
