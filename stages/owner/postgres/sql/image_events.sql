SELECT e.position, e.schema_version::text, e.codec_version::text, e.bytes
FROM owner_event e JOIN owner o ON o.owner_no = e.owner_no
WHERE o.owner_id = $1
ORDER BY e.position
