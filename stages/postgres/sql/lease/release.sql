UPDATE writer_lease SET released = true WHERE source_topic_id = $1 AND holder = $2 AND term = $3
