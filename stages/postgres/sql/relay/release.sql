UPDATE relay_lease
SET expires_at = clock_timestamp()
WHERE holder = $1 AND term = $2
