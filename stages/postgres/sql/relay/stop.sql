-- $1 holder, $2 term, $3 partition, $4 expected sent-through, $5 reason, $6 detail.
WITH lease AS MATERIALIZED (
    SELECT 1 FROM relay_lease WHERE holder = $1 AND term = $2 FOR SHARE
), stopped AS (
    UPDATE relay_state
    SET stop_reason = $5, stop_detail = $6, stopped_at = now()
    WHERE partition = $3 AND sent_through = $4 AND EXISTS (SELECT FROM lease)
    RETURNING partition
)
SELECT EXISTS (SELECT FROM lease), EXISTS (SELECT FROM stopped)
