-- One row for each source partition: what worker and relay durably say of it, in one snapshot. The oldest pending row
-- is the one that holds the sent-through sequence: the last that begins at or below it, unless all of it was sent.
SELECT p.partition, p.epoch, p.member, p.updated_at, p.next_offset, p.stop_reason, coalesce(p.stop_offset, 0), coalesce(p.stop_detail, ''),
    p.stopped_at, r.sent_through, p.outbox_next, r.stop_reason, coalesce(r.stop_detail, ''), r.stopped_at,
    (SELECT o.created_at FROM (
        SELECT first_seq, count, created_at FROM outbox
        WHERE partition = p.partition AND first_seq <= r.sent_through
        ORDER BY first_seq DESC LIMIT 1
     ) o WHERE o.first_seq + o.count > r.sent_through)
FROM partition_state p JOIN relay_state r USING (partition)
ORDER BY p.partition
