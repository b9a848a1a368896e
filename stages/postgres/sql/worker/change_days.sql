UPDATE day_state d
SET active = c.active, close = c.close, balance_version = c.balance_version, alert_version = c.alert_version,
    alert_present = c.alert_present, alert_close = c.alert_close
FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[],
            $8::bigint[])
    AS c (key_id, day, active, close, balance_version, alert_version, alert_present, alert_close)
WHERE d.key_id = c.key_id AND d.day = c.day
