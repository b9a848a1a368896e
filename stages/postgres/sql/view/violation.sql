SELECT output_offset, reason, detail
FROM protocol_violation
WHERE partition = $1
