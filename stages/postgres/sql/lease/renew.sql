-- $1 source topic ID, $2 holder, $3 term, $4 duration in microseconds. An expired lease that nobody took is renewed.
UPDATE writer_lease SET expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
WHERE source_topic_id = $1 AND holder = $2 AND term = $3 AND NOT released
