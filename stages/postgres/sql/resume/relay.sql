-- Clears the stop of partition $1 that was looked into: at sequence $2, reason $3 (R36).
UPDATE relay_state
SET stop_reason = NULL, stop_detail = NULL, stopped_at = NULL
WHERE partition = $1 AND sent_through = $2 AND stop_reason = $3
