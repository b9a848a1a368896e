-- The receipts of partition $1 that cover sequences from $2 up to, and without, $3.
SELECT first_seq, count, acks
FROM receipt
WHERE partition = $1 AND first_seq < $3 AND first_seq >= coalesce(
    (SELECT max(first_seq) FROM receipt WHERE partition = $1 AND first_seq <= $2), $2)
ORDER BY first_seq
