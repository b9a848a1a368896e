package postgres

// PendingOfKindSQL is the statement behind Store.Pending, for tests that look at its plan.
var PendingOfKindSQL = pendingOfKindSQL
