-- Up to $2 effects without a receipt whose identity begins with $1. Those behind the first 32 MiB of payloads are left to
-- the next reading: one payload may have a megabyte.
SELECT owner_id, position, fence, effect_id, schema_version, codec_version, bytes
FROM (
    SELECT o.owner_id, o.position, o.fence::text, p.effect_id, e.schema_version::text, e.codec_version::text, e.bytes, p.seq,
           sum(octet_length(e.bytes)) OVER (ORDER BY p.seq) - octet_length(e.bytes) AS before
    FROM (SELECT seq, owner_no, effect_id FROM owner_pending
          WHERE starts_with(effect_id, $1) ORDER BY seq LIMIT $2) p
    CROSS JOIN LATERAL (SELECT * FROM owner_effect WHERE owner_no = p.owner_no AND effect_id = p.effect_id OFFSET 0) e
    CROSS JOIN LATERAL (SELECT * FROM owner WHERE owner_no = p.owner_no OFFSET 0) o
) found
WHERE before < 33554432
ORDER BY seq
