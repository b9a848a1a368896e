-- The size of one table of the search_path in bytes, indexes and long values included, and Postgres's estimate of its rows.
SELECT pg_total_relation_size(to_regclass($1)), greatest(0, (SELECT reltuples FROM pg_class WHERE oid = to_regclass($1)))::bigint
