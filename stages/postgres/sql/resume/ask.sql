INSERT INTO resume_request AS r (stage, partition) VALUES ($1, $2)
ON CONFLICT (stage, partition) DO UPDATE SET requests = r.requests + 1
