package view

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// Reason names why a record stops its output partition (S7, R18). The values are stored in protocol_violation.
type Reason string

// The reasons of a stop: those of a protocol violation, in the order in which Parse checks them, the one found by Judge,
// and a bug.
const (
	// ReasonUnreadable is a value that is not one canonical envelope: null, other JSON, other member order.
	ReasonUnreadable Reason = "unreadable_envelope"
	// ReasonSchemaVersion is an envelope of another schema version.
	ReasonSchemaVersion Reason = "unsupported_schema_version"
	// ReasonForeign is an envelope of another namespace.
	ReasonForeign Reason = "foreign_namespace"
	// ReasonUnknownKey is a record key that is no configured stock key.
	ReasonUnknownKey Reason = "unknown_stock_key"
	// ReasonKeyMismatch is an output ID or payload that names another stock key or day than it should.
	ReasonKeyMismatch Reason = "key_mismatch"
	// ReasonMisrouted is a record in a partition that its key does not map to.
	ReasonMisrouted Reason = "misrouted_partition"
	// ReasonTypeMismatch is a message type that does not fit the output ID or the payload.
	ReasonTypeMismatch Reason = "type_mismatch"
	// ReasonInvalidValue is a number, day or reason set outside its range.
	ReasonInvalidValue Reason = "invalid_value"
	// ReasonContent is a second content at the version already stored (SC17).
	ReasonContent Reason = "equal_version_different_content"
	// ReasonInternal is a broken invariant or a statement that can never succeed: a bug of this program.
	ReasonInternal Reason = "internal_error"
)

// Content is the SHA-256 of an envelope's value: what "equal content" compares (R18).
type Content [sha256.Size]byte

// Envelope is one output message that belongs to the namespace and its partition.
type Envelope struct {
	ID ID
	// Version is at least 1.
	Version int64
	Content Content
	// Present is false for a withdrawal; the values below are then zero.
	Present bool
	// Close is the day's close of a balance or an alert.
	Close int64
	// Threshold is the reorder threshold of an alert.
	Threshold int64
	// Conflicts is the reason set of a status, sorted; not empty means BLOCKED (R10).
	Conflicts []ledger.ConflictRef
}

// Blocked reports whether a status envelope says BLOCKED.
func (e Envelope) Blocked() bool { return len(e.Conflicts) > 0 }

// Problem is why a record stops its partition.
type Problem struct {
	Reason Reason
	// Detail is one line for the operator.
	Detail string
	// Stored is the content already held, for ReasonContent; nil otherwise.
	Stored *Content
}

// Error implements error.
func (p *Problem) Error() string { return string(p.Reason) + ": " + p.Detail }

func problem(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// Parse reads a record of the output topic. A nil Problem means that the envelope is the namespace's own and stands
// where it belongs; everything else is a protocol violation. Parse is pure and safe for concurrent use.
func (c *Config) Parse(record broker.Record) (Envelope, *Problem) {
	if record.Value == nil {
		return Envelope{}, problem(ReasonUnreadable, "null value")
	}
	m, err := readMessage(record.Value)
	switch {
	case err != nil:
		return Envelope{}, problem(ReasonUnreadable, "%v", err)
	case m.schemaVersion != schemaVersion:
		return Envelope{}, problem(ReasonSchemaVersion, "schema version %d, want %d", m.schemaVersion, schemaVersion)
	case string(m.namespace) != c.name || string(m.id.namespace) != c.name:
		return Envelope{}, problem(ReasonForeign, "namespace %q, output ID of %q, want %q", m.namespace, m.id.namespace, c.name)
	}
	keyID, known := c.byBrokerKey[string(record.Key)]
	if !known {
		return Envelope{}, problem(ReasonUnknownKey, "record key %q", record.Key)
	}
	key := c.stockKeys[keyID]
	switch {
	case string(m.id.item) != key.Item || string(m.id.location) != key.Location:
		return Envelope{}, problem(ReasonKeyMismatch, "output ID of (%q, %q) under record key %q",
			m.id.item, m.id.location, record.Key)
	case c.mapped[keyID] != record.Partition:
		return Envelope{}, problem(ReasonMisrouted, "record key %q maps to partition %d", record.Key, c.mapped[keyID])
	}
	envelope := Envelope{ID: ID{KeyID: keyID}, Version: m.version, Present: m.payload != nil}
	if trouble := m.fill(&envelope); trouble != nil {
		return Envelope{}, trouble
	}
	envelope.Content = sha256.Sum256(record.Value)
	return envelope, nil
}

// fill checks type, day, payload and ranges against the output ID, and moves the values into e.
func (m *message) fill(e *Envelope) *Problem {
	if trouble := m.agree(e); trouble != nil {
		return trouble
	}
	if p := m.payload; p != nil {
		if !bytes.Equal(p.item, m.id.item) || !bytes.Equal(p.location, m.id.location) || !bytes.Equal(p.day, m.id.day) {
			return problem(ReasonKeyMismatch, "payload of (%q, %q, %q) under output ID of (%q, %q, %q)",
				p.item, p.location, p.day, m.id.item, m.id.location, m.id.day)
		}
		e.Close, e.Threshold = p.close, p.threshold
	}
	if trouble := m.ranges(); trouble != nil {
		return trouble
	}
	switch e.ID.Family {
	case FamilyStatus:
		return m.status(e)
	default:
		day, ok := parseDay(string(m.id.day))
		if !ok {
			return problem(ReasonInvalidValue, "day %q", m.id.day)
		}
		e.ID.Day = day
		return nil
	}
}

// agree finds the family that type, output ID and presence of a payload agree on.
func (m *message) agree(e *Envelope) *Problem {
	var present bool
	switch string(m.kind) {
	case typeBalanceStated:
		e.ID.Family, present = FamilyBalance, true
	case typeBalanceRetracted:
		e.ID.Family, present = FamilyBalance, false
	case typeAlertRaised:
		e.ID.Family, present = FamilyAlert, true
	case typeAlertRetracted:
		e.ID.Family, present = FamilyAlert, false
	case typeKeyStatusStated:
		e.ID.Family, present = FamilyStatus, true
	default:
		return problem(ReasonTypeMismatch, "message type %q", m.kind)
	}
	switch {
	case string(m.id.family) != e.ID.Family.String():
		return problem(ReasonTypeMismatch, "%s under an output ID of family %q", m.kind, m.id.family)
	case present != e.Present && present:
		return problem(ReasonTypeMismatch, "%s without a payload", m.kind)
	case present != e.Present:
		return problem(ReasonTypeMismatch, "%s with a payload", m.kind)
	case (m.id.day != nil) == (e.ID.Family == FamilyStatus):
		return problem(ReasonTypeMismatch, "%s with an output ID of the wrong length", m.kind)
	}
	return nil
}

// ranges checks version and attribution.
func (m *message) ranges() *Problem {
	switch {
	case m.version < 1:
		return problem(ReasonInvalidValue, "version %d", m.version)
	case m.cause != nil && (m.cause.revision < 1 || len(m.cause.txnID) == 0):
		return problem(ReasonInvalidValue, "cause %q at revision %d", m.cause.txnID, m.cause.revision)
	case m.source.offset < 0 || m.source.partition < 0 || len(m.source.topicID) == 0:
		return problem(ReasonInvalidValue, "source %q partition %d offset %d", m.source.topicID, m.source.partition, m.source.offset)
	}
	return nil
}

// maxEvidence bounds the raw bytes kept of a violating record.
const maxEvidence = 1 << 20

// evidence is what is kept of a record that stops its partition.
func evidence(record broker.Record, cause *Problem) *Stop {
	stop := &Stop{Problem: *cause, Offset: record.Offset, Key: cut(record.Key), Value: cut(record.Value)}
	if m, err := readMessage(record.Value); err == nil {
		stop.OutputID, stop.Version = string(m.id.raw), m.version
	}
	return stop
}

func cut(raw []byte) []byte { return raw[:min(len(raw), maxEvidence)] }

// status checks the reason set: sorted and without repeats, empty exactly for READY (R10).
func (m *message) status(e *Envelope) *Problem {
	blocked := string(m.payload.status) == StatusBlocked
	if !blocked && string(m.payload.status) != StatusReady {
		return problem(ReasonInvalidValue, "status %q", m.payload.status)
	}
	if blocked != (len(m.payload.conflicts) > 0) {
		return problem(ReasonInvalidValue, "status %s with %d conflicts", m.payload.status, len(m.payload.conflicts))
	}
	for i, c := range m.payload.conflicts {
		if c.revision < 1 || len(c.txnID) == 0 {
			return problem(ReasonInvalidValue, "conflict %q at revision %d", c.txnID, c.revision)
		}
		if i > 0 && !m.payload.conflicts[i-1].before(c) {
			return problem(ReasonInvalidValue, "conflicts not sorted at %q revision %d", c.txnID, c.revision)
		}
		e.Conflicts = append(e.Conflicts, ledger.ConflictRef{TxnID: string(c.txnID), Revision: c.revision})
	}
	return nil
}

func (c conflict) before(next conflict) bool {
	order := bytes.Compare(c.txnID, next.txnID)
	return order < 0 || order == 0 && c.revision < next.revision
}

// The two trust statuses (S7).
const (
	// StatusReady says that no highest revision of the key is ambiguous.
	StatusReady = "READY"
	// StatusBlocked says that the key's business outputs are retained but not certified (S4).
	StatusBlocked = "BLOCKED"
)
