-- The entries of partition $1 from offset $2 up to, and without, $3. One of another topic is none of this namespace's ($4).
SELECT source_offset, CASE WHEN topic_id = $4 THEN reason ELSE reason || ' of topic ' || topic_id END, key, value, key_length,
       value_length, key_sha256, value_sha256
FROM quarantine
WHERE partition = $1 AND source_offset >= $2 AND source_offset < $3
ORDER BY source_offset
