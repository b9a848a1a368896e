SELECT spec::text FROM namespace WHERE name = $1
