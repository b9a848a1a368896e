SELECT i.inbox_id, i.fingerprint, i.committed_through
FROM owner_inbox i JOIN owner o ON o.owner_no = i.owner_no
WHERE o.owner_id = $1
ORDER BY i.seq
