INSERT INTO protocol_violation (partition, output_offset, reason, output_id, version, stored_content, incoming_key,
                                incoming_value, detail)
VALUES ($1, $2, $3, nullif($4, ''), nullif($5::bigint, 0), $6, $7, $8, $9)
