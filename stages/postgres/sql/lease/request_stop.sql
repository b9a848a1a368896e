-- $1 source topic ID, $2 term: a later writer is not asked to stop by a request for an earlier one.
UPDATE writer_lease SET stop_requested = true WHERE source_topic_id = $1 AND term = $2 AND NOT released
