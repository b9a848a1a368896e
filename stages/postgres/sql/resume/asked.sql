SELECT stage, partition, requests FROM resume_request
