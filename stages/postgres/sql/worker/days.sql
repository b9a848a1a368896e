SELECT key_id, day, active, close, balance_version, alert_version, alert_present, alert_close
FROM day_state
WHERE key_id = ANY ($1::integer[])
ORDER BY key_id, day
