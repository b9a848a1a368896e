-- Ends sessions that hold a unit of work open and wait, in the middle of a statement, for a client that sends nothing more:
-- a process that was frozen while it copied rows. idle_in_transaction_session_timeout ends sessions between statements
-- only, and neither statement_timeout nor a cancel request reaches a COPY that waits for its client (R15, B030).
SELECT count(pg_terminate_backend(a.pid))
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
  AND a.state = 'active' AND a.wait_event = 'ClientRead'
  AND a.query_start < clock_timestamp()
      - nullif(current_setting('idle_in_transaction_session_timeout')::interval, interval '0')
  AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'partition_state'::regclass)
