-- The packed rows of partition $1 that hold any of the $3 sequences from $2 on. The first may begin before $2. Sent rows
-- are not visited (B060). Rows behind the first 32 MiB are left to the next reading: one message may have a megabyte.
SELECT first_seq, count, frames
FROM (
    SELECT first_seq, count, frames, sum(octet_length(frames)) OVER (ORDER BY first_seq) - octet_length(frames) AS before
    FROM outbox
    WHERE partition = $1 AND first_seq < $2::bigint + $3::bigint AND first_seq >= coalesce(
        (SELECT max(first_seq) FROM outbox WHERE partition = $1 AND first_seq <= $2), $2)
) o
WHERE before < 33554432
ORDER BY first_seq
