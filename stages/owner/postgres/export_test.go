package postgres

// What tests of the package look at by itself.
var (
	PendingSQL        = pendingSQL
	PlansSQL          = plansSQL
	InboxSQL          = inboxSQL
	EffectsSQL        = effectsSQL
	ReceiptsSQL       = receiptsSQL
	EffectReceiptsSQL = effectReceiptsSQL
	SettleSQL         = settleSQL
	PendingOfLaneSQL  = pendingOfLaneSQL
)
