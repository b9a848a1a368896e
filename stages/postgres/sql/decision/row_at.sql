-- The packed row that holds sequence $2 of partition $1, or the last one before it.
SELECT first_seq, count, frames FROM outbox WHERE partition = $1 AND first_seq <= $2 ORDER BY first_seq DESC LIMIT 1
