package owner

import "encoding/hex"

// The domains of the fingerprints. docs/reference/durable-owner.md describes what follows them.
const (
	domainHistory    = "amends.dev/owner/history/1"
	domainProjection = "amends.dev/owner/projection/1"
	domainLatest     = "amends.dev/owner/latest/1"
)

// HistoryFingerprint identifies a complete history with what was observed of it. Fingerprints of different kinds have
// different types: they cannot be compared with each other by mistake.
type HistoryFingerprint [32]byte

// ProjectionFingerprint identifies the content of a projection, whatever history led to it. Equal ones certify equal
// content and nothing about completeness.
type ProjectionFingerprint [32]byte

// LatestFingerprint identifies an owner's latest value.
type LatestFingerprint [32]byte

// String is the fingerprint in lower-case hexadecimal.
func (f HistoryFingerprint) String() string { return hex.EncodeToString(f[:]) }

// String is the fingerprint in lower-case hexadecimal.
func (f ProjectionFingerprint) String() string { return hex.EncodeToString(f[:]) }

// String is the fingerprint in lower-case hexadecimal.
func (f LatestFingerprint) String() string { return hex.EncodeToString(f[:]) }

// Fingerprint binds the owner, every record with its position and versions, the frontier, and the observed projection.
func (h CompleteHistory) Fingerprint(observed Payload) HistoryFingerprint {
	return h.records(newEncoding(domainHistory)).number(uint64(len(h.events))).payload(&observed).sum()
}

// FingerprintProjection binds the content of a projection with its versions, and nothing else.
func FingerprintProjection(content Payload) ProjectionFingerprint {
	return newEncoding(domainProjection).payload(&content).sum()
}

// Fingerprint binds the owner and the value with its versions; two histories that settle to one value have equal ones.
func (l LatestDurableProjection) Fingerprint() LatestFingerprint {
	return newEncoding(domainLatest).text(l.ownerID).payload(&l.value).sum()
}
