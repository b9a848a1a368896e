-- The programs of this build that are connected to this database on behalf of namespace $1.
SELECT DISTINCT application_name
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = ANY ($1::text[])
ORDER BY application_name
