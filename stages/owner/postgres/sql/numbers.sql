-- $1 blocks of numbers, drawn after the owners were locked.
SELECT array_agg(nextval('owner_seq')) FROM generate_series(1, $1::integer)
