-- $1 holder, $2 term, $3 partition, $4 expected sent-through, $5 number of envelopes, $6 packed receipts. The lease's
-- row stays locked until the commit, so no successor can take over in between (R17).
WITH lease AS MATERIALIZED (
    SELECT 1 FROM relay_lease WHERE holder = $1 AND term = $2 FOR SHARE
), moved AS (
    UPDATE relay_state
    SET sent_through = $4 + $5::integer
    WHERE partition = $3 AND sent_through = $4 AND EXISTS (SELECT FROM lease)
    RETURNING partition
), kept AS (
    INSERT INTO receipt (partition, first_seq, count, acks)
    SELECT partition, $4, $5, $6 FROM moved
)
SELECT EXISTS (SELECT FROM lease), EXISTS (SELECT FROM moved)
