SELECT g.key_id, g.day - DATE '1970-01-01', g.version, g.content
FROM unnest($1::integer[], $2::integer[]) AS w (key_id, day)
    JOIN balance g ON g.key_id = w.key_id AND g.day = DATE '1970-01-01' + w.day
