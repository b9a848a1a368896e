-- The first statement of every unit of work (R18): locks the partition's progress and names the view it belongs to.
SELECT p.next_offset, p.stopped, n.name, n.namespace_digest, n.output_topic_id
FROM view_progress p CROSS JOIN namespace n
WHERE p.partition = $1
FOR UPDATE OF p
