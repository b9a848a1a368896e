package postgres

// What tests look at as it is sent.
var (
	PlansSQL   = plansSQL
	PendingSQL = pendingSQL
)
