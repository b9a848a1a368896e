INSERT INTO namespace (name, semantics_version, spec, namespace_digest, business_digest, source_topic, source_topic_id,
                       output_topic, output_topic_id, state_schema, view_schema, built_by, unfinished, experiment_of)
VALUES ($1, $2, $3::jsonb, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
