-- How many pending effects there are of kind $1 and of kind $2.
SELECT count(*) FILTER (WHERE kind = $1), count(*) FILTER (WHERE kind = $2) FROM owner_pending WHERE kind IN ($1, $2)
