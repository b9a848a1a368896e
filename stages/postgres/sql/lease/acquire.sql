-- $1 source topic ID, $2 holder, $3 duration in microseconds. Takes a lease that is new, released, expired or already
-- the holder's, always under a new term; no row where another one's still runs (R22). The clock is read after the wait
-- for the row's lock. A stop that was requested of an earlier term is not the new one's.
INSERT INTO writer_lease AS l (source_topic_id, holder, term, expires_at)
VALUES ($1, $2, 1, clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (source_topic_id) DO UPDATE
SET holder = excluded.holder, term = l.term + 1, stop_requested = false, released = false,
    expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE l.holder = excluded.holder OR l.released OR l.expires_at <= clock_timestamp()
RETURNING term
