SELECT p.partition, r.sent_through, p.outbox_next, coalesce(r.stop_reason, '')
FROM partition_state p LEFT JOIN relay_state r USING (partition)
ORDER BY p.partition
