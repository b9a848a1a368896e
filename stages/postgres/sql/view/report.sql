SELECT p.partition, p.next_offset, p.applied, p.ignored, v.output_offset, coalesce(v.reason, ''), coalesce(v.detail, ''), v.at
FROM view_progress p LEFT JOIN protocol_violation v USING (partition)
ORDER BY p.partition
