-- Makes every verb refuse namespace $1 from now on, with the reason $2, and returns what was unfinished before.
WITH former AS (SELECT name, unfinished FROM namespace WHERE name = $1 FOR UPDATE)
UPDATE namespace n SET unfinished = $2 FROM former f WHERE n.name = f.name
RETURNING f.unfinished
