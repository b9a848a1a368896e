-- $1 holder, $2 duration in microseconds. Renews the holder's own lease, or takes a free or expired one over under the
-- next term; no row where another one's still runs (R17). The clock is read after the wait for the row's lock.
INSERT INTO relay_lease AS l (holder, term, expires_at)
VALUES ($1, 1, clock_timestamp() + $2::bigint * interval '1 microsecond')
ON CONFLICT (singleton) DO UPDATE
SET holder = excluded.holder, term = l.term + (l.holder <> excluded.holder)::integer,
    expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE l.holder = excluded.holder OR l.expires_at <= clock_timestamp()
RETURNING term
