-- Makes the stalls of process $1 exactly those given, and removes what processes left that are long gone. A worker that has
-- no place in its group does not know its frontier, so a stall that begins takes what is durable where that is further on.
WITH gone AS (
    DELETE FROM stall s
    WHERE s.reported_at < now() - interval '1 hour' AND s.process <> $1
       OR s.process = $1 AND NOT EXISTS (
           SELECT FROM unnest($2::text[], $3::integer[]) AS n (stage, partition)
           WHERE n.stage = s.stage AND n.partition = s.partition)
)
INSERT INTO stall AS s (stage, partition, process, reason, since, attempts, next_try, frontier)
SELECT n.stage, n.partition, $1, n.reason, n.since, n.attempts, n.next_try,
       greatest(n.frontier, CASE n.stage
           WHEN 'worker' THEN (SELECT p.next_offset FROM partition_state p WHERE p.partition = n.partition)
           WHEN 'relay' THEN (SELECT r.sent_through FROM relay_state r WHERE r.partition = n.partition)
       END)
FROM unnest($2::text[], $3::integer[], $4::text[], $5::timestamptz[], $6::integer[], $7::timestamptz[], $8::bigint[])
    AS n (stage, partition, reason, since, attempts, next_try, frontier)
ON CONFLICT (stage, partition, process) DO UPDATE
SET reason = excluded.reason, since = excluded.since, attempts = excluded.attempts, next_try = excluded.next_try,
    frontier = CASE WHEN s.since = excluded.since THEN s.frontier ELSE excluded.frontier END, reported_at = now()
