INSERT INTO owner_receipt (owner_no, receipt_id, effect_id, outcome, schema_version, codec_version, bytes, recorded_at, fence, seq)
SELECT c.owner_no, c.receipt_id, c.effect_id, c.outcome, c.schema_version::numeric, c.codec_version::numeric, c.bytes,
       c.recorded_at, c.fence::numeric, c.seq
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::text[],
            $10::bigint[])
    AS c (owner_no, receipt_id, effect_id, outcome, schema_version, codec_version, bytes, recorded_at, fence, seq)
