SELECT s.position, s.schema_version::text, s.codec_version::text, s.bytes
FROM owner_snapshot s JOIN owner o ON o.owner_no = s.owner_no
WHERE o.owner_id = $1
