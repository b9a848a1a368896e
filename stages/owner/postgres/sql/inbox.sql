-- The completed inputs with the identities $2, each of the owner in the same place of $1; each looked for by itself.
SELECT w.owner_id, i.inbox_id, i.fingerprint, i.digest, i.committed_through
FROM unnest($1::text[], $2::text[]) AS w (owner_id, inbox_id)
CROSS JOIN LATERAL (SELECT owner_no FROM owner WHERE owner_id = w.owner_id OFFSET 0) o
CROSS JOIN LATERAL (SELECT * FROM owner_inbox WHERE owner_no = o.owner_no AND inbox_id = w.inbox_id OFFSET 0) i
