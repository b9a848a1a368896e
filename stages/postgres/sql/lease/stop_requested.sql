SELECT stop_requested FROM writer_lease
WHERE source_topic_id = $1 AND holder = $2 AND term = $3 AND NOT released
