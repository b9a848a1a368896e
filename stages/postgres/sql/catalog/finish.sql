UPDATE namespace SET unfinished = '' WHERE name = $1
