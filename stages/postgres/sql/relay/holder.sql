SELECT holder, term, expires_at > clock_timestamp()
FROM relay_lease
