SELECT name, semantics_version, namespace_digest, business_digest, source_topic, source_topic_id, output_topic,
       output_topic_id, state_schema, view_schema, built_by, applied_at, unfinished,
       experiment_of
FROM namespace
WHERE $1 = '' OR name = $1
ORDER BY name
