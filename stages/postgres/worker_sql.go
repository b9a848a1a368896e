package postgres

import _ "embed" // the SQL text

// The worker's statements. Each is set-based: its cost in round trips does not depend on the size of the batch.
var (
	//go:embed sql/worker/state.sql
	workerStateSQL string
	//go:embed sql/worker/free.sql
	workerFreeSQL string
	//go:embed sql/worker/install.sql
	workerInstallSQL string
	//go:embed sql/worker/lock.sql
	workerLockSQL string
	//go:embed sql/worker/stop.sql
	workerStopSQL string
	//go:embed sql/worker/keys.sql
	workerKeysSQL string
	//go:embed sql/worker/days.sql
	workerDaysSQL string
	//go:embed sql/worker/authority.sql
	workerAuthoritySQL string
	//go:embed sql/worker/key_authority.sql
	workerKeyAuthoritySQL string
	//go:embed sql/worker/evidence.sql
	workerEvidenceSQL string
	//go:embed sql/worker/change_authority.sql
	workerChangeAuthoritySQL string
	//go:embed sql/worker/change_days.sql
	workerChangeDaysSQL string
	//go:embed sql/worker/finish.sql
	workerFinishSQL string
)
