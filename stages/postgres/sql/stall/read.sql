-- What was said within $1.
SELECT stage, partition, process, reason, since, attempts, next_try, frontier
FROM stall
WHERE reported_at > now() - $1::interval
ORDER BY stage, partition, since, process
