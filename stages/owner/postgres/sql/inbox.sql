-- The completed inputs with the identities $2, each of the owner in the same place of $1.
SELECT o.owner_id, i.inbox_id, i.fingerprint, i.digest, i.committed_through
FROM unnest($1::text[], $2::text[]) AS w (owner_id, inbox_id)
JOIN owner o ON o.owner_id = w.owner_id
JOIN owner_inbox i ON i.owner_no = o.owner_no AND i.inbox_id = w.inbox_id
