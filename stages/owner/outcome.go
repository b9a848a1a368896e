package owner

// Outcome says what became of a request to a Store. Refusals change nothing.
type Outcome string

// The outcomes of the contract, and those of R27.
const (
	Committed            Outcome = "committed"
	Duplicate            Outcome = "duplicate"
	Aborted              Outcome = "aborted"
	Recovered            Outcome = "recovered"
	FenceAdvanced        Outcome = "fence_advanced"
	ReceiptRecorded      Outcome = "receipt_recorded"
	ReceiptDuplicate     Outcome = "receipt_duplicate"
	PositionConflict     Outcome = "position_conflict"
	StaleFence           Outcome = "stale_fence"
	InboxConflict        Outcome = "inbox_identity_conflict"
	EffectConflict       Outcome = "effect_identity_conflict"
	ReceiptConflict      Outcome = "receipt_identity_conflict"
	EffectAlreadyReceipt Outcome = "effect_already_receipted"
	UnsupportedVersion   Outcome = "unsupported_version"
	ModeConflict         Outcome = "mode_conflict"
	InvalidIdentity      Outcome = "invalid_identity"
	UnknownOwner         Outcome = "unknown_owner"
	UnknownEffect        Outcome = "unknown_effect"
	PositionExhausted    Outcome = "position_exhausted"
)

// SafeToAcknowledge reports whether the input may be acknowledged to whoever sent it: only a commit and the exact
// repetition of one make it so.
func (o Outcome) SafeToAcknowledge() bool { return o == Committed || o == Duplicate }
