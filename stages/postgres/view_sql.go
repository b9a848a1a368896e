package postgres

import _ "embed" // the SQL text

// The view's statements. Each is set-based: its cost in round trips does not depend on the size of the fetch.
var (
	//go:embed sql/view/lock.sql
	viewLockSQL string
	//go:embed sql/view/violation.sql
	viewViolationSQL string
	//go:embed sql/view/guard_balance.sql
	viewGuardBalanceSQL string
	//go:embed sql/view/guard_alert.sql
	viewGuardAlertSQL string
	//go:embed sql/view/guard_status.sql
	viewGuardStatusSQL string
	//go:embed sql/view/apply_balance.sql
	viewApplyBalanceSQL string
	//go:embed sql/view/apply_alert.sql
	viewApplyAlertSQL string
	//go:embed sql/view/apply_status.sql
	viewApplyStatusSQL string
	//go:embed sql/view/stop.sql
	viewStopSQL string
	//go:embed sql/view/finish.sql
	viewFinishSQL string
)
