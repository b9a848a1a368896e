SELECT term, greatest(0, extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
FROM relay_lease
