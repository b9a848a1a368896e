-- $1 source topic ID, empty for all.
SELECT source_topic_id, holder, term, stop_requested, released,
       NOT released AND expires_at > clock_timestamp(),
       greatest(0, extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
FROM writer_lease
WHERE $1 = '' OR source_topic_id = $1
ORDER BY source_topic_id
