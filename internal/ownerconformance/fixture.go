package ownerconformance

// The models of the corpus, one for each of its four files.
const (
	modelAtomic     = "AtomicCrashBoundary"
	modelOrdered    = "OrderedReplay"
	modelIdentity   = "IdentityDeduplication"
	modelProjection = "ProjectionFingerprint"
)

// File is one file of a corpus.
type File struct {
	// Name is the file's name in its folder.
	Name      string
	Model     string
	Scenarios []*Scenario
}

// Scenario is what happens to one owner, or what holds of histories and projections of it.
type Scenario struct {
	ID      string
	OwnerID string
	Mode    string
	Fence   uint64
	Steps   []*Step
	// Fingerprints and Reconciliations are what scenarios of ProjectionFingerprint have instead of steps.
	Fingerprints    *fingerprintCase
	Reconciliations []*reconciliationCase
	// byIdentity says that the lists of images are in the order of identities, not of acceptance.
	byIdentity bool
}

// The operations.
const (
	opCommit       = "commit"
	opCrashBefore  = "crash_before_commit"
	opCrashRecover = "crash_recover"
	opAdvanceFence = "advance_fence"
	opReceipt      = "record_receipt"
)

// Step is one operation with what must be found after it.
type Step struct {
	Type    string
	Commit  *commit
	Fence   uint64
	Receipt *receipt
	Result  *result
	Image   *image
}

// payload is a durable value; its bytes are those of a text in UTF-8.
type payload struct {
	SchemaVersion uint64 `json:"schema_version"`
	CodecVersion  uint64 `json:"codec_version"`
	Bytes         string `json:"bytes"`
}

// record is a payload at its position.
type record struct {
	Position uint64  `json:"position"`
	Payload  payload `json:"payload"`
}

// commit is a unit of work.
type commit struct {
	OwnerID            string     `json:"owner_id"`
	ExpectedPosition   uint64     `json:"expected_position"`
	Fence              uint64     `json:"fence"`
	InboxID            string     `json:"inbox_id"`
	IngressFingerprint string     `json:"ingress_fingerprint"`
	State              state      `json:"state"`
	Effects            []*effect  `json:"effects"`
	Receipts           []*receipt `json:"receipts"`
}

// state is exactly one of its two.
type state struct {
	AppendEvents    *[]*payload `json:"append_events,omitempty"`
	ReplaceSnapshot *payload    `json:"replace_snapshot,omitempty"`
}

type effect struct {
	ID      string  `json:"id"`
	Payload payload `json:"payload"`
}

type receipt struct {
	ID       string  `json:"id"`
	EffectID string  `json:"effect_id"`
	Outcome  string  `json:"outcome"`
	Payload  payload `json:"payload"`
}

// result is what a step answers. Through and Ack are not compared where they are absent; Ack may be given of any step.
type result struct {
	Outcome string  `json:"outcome"`
	Through *uint64 `json:"through,omitempty"`
	Ack     *string `json:"ack,omitempty"`
}

// image is everything durable of an owner.
type image struct {
	Position         uint64           `json:"position"`
	Fence            uint64           `json:"fence"`
	History          []*record        `json:"history"`
	Snapshot         *record          `json:"snapshot"`
	Inbox            []*inboxItem     `json:"inbox"`
	Outbox           []*outboxItem    `json:"outbox"`
	Receipts         []*receiptRecord `json:"receipts"`
	PendingEffectIDs []string         `json:"pending_effect_ids"`
}

type inboxItem struct {
	ID                 string `json:"id"`
	IngressFingerprint string `json:"ingress_fingerprint"`
	CommittedThrough   uint64 `json:"committed_through"`
}

type outboxItem struct {
	ID         string  `json:"id"`
	AcceptedAt uint64  `json:"accepted_at"`
	Payload    payload `json:"payload"`
}

type receiptRecord struct {
	ID         string  `json:"id"`
	EffectID   string  `json:"effect_id"`
	Outcome    string  `json:"outcome"`
	RecordedAt uint64  `json:"recorded_at"`
	Fence      uint64  `json:"fence"`
	Payload    payload `json:"payload"`
}

// fingerprintCase compares two histories, projections and latest values of the scenario's owner.
type fingerprintCase struct {
	LeftHistory     []*record             `json:"left_history"`
	RightHistory    []*record             `json:"right_history"`
	LeftProjection  *payload              `json:"left_projection"`
	RightProjection *payload              `json:"right_projection"`
	LeftLatest      *payload              `json:"left_latest"`
	RightLatest     *payload              `json:"right_latest"`
	Expect          *fingerprintRelations `json:"expect"`
}

// fingerprintRelations are equal or different, and the capabilities that are claimed.
type fingerprintRelations struct {
	Projection        string `json:"projection_fingerprint_relation"`
	History           string `json:"history_fingerprint_relation"`
	Latest            string `json:"latest_fingerprint_relation"`
	HistoryCapability string `json:"history_capability"`
	LatestCapability  string `json:"latest_capability"`
}

// reconciliationCase replays facts and compares a projection with the outcome.
type reconciliationCase struct {
	ID       string      `json:"id"`
	History  []*fact     `json:"history"`
	Resume   *checkpoint `json:"resume_from"`
	Expected *checkpoint `json:"expected"`
	Observed *checkpoint `json:"observed_projection"`
	Expect   *finding    `json:"expect"`
}

// fact has a value unless it is a retraction.
type fact struct {
	Position uint64  `json:"position"`
	Type     string  `json:"type"`
	EntityID string  `json:"entity_id"`
	Value    *string `json:"value,omitempty"`
}

type checkpoint struct {
	Through uint64   `json:"through"`
	Version uint64   `json:"projection_version"`
	Entries []*entry `json:"entries"`
}

type entry struct {
	EntityID string `json:"entity_id"`
	Value    string `json:"value"`
}

// finding is the outcome of a reconciliation.
type finding struct {
	Health    string `json:"health"`
	Drift     bool   `json:"drift"`
	Lag       uint64 `json:"lag"`
	Authority string `json:"transition_authority"`
	EffectID  string `json:"reconciliation_effect_id"`
}
