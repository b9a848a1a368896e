-- How many effects without a receipt have an identity that begins with $1, at most $2.
SELECT count(*) FROM (SELECT FROM owner_pending WHERE starts_with(effect_id, $1) LIMIT $2) found
