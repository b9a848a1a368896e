// Package diagnostics is the file of expected diagnostics (S10, R24): a named, exact list of rejected records and
// conflicting payloads, read strictly and with positions, written, and compared as a set. It is pure.
package diagnostics

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/internal/mark"
)

// Entry is one rejected record, or the first record of one of the payloads of a conflict.
type Entry struct {
	// Partition and Offset are source coordinates.
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	// Reason is a rejection reason of schemas/reasons.json, ambiguous_conflict or superseded_conflict.
	Reason string `json:"reason"`
	// Fingerprint is a SHA-256 in hex: of a rejection over key and value, of a conflict over the bytes of Payload.
	Fingerprint string `json:"fingerprint"`
	// Payload is the canonical payload of a conflict; empty for a rejection.
	Payload string `json:"payload,omitempty"`
}

// File is a file of expected diagnostics.
type File struct {
	// Name is what the fixture is called.
	Name string
	// TopicID is the source topic ID that it is for; empty where it is for any.
	TopicID string
	// Entries are sorted by Order, without repeats.
	Entries []Entry
}

// Order sorts entries by coordinates, then by reason, fingerprint and payload.
func Order(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset),
		strings.Compare(a.Reason, b.Reason), strings.Compare(a.Fingerprint, b.Fingerprint), strings.Compare(a.Payload, b.Payload))
}

// Compare compares two sets, both sorted by Order, and returns what only the expected one and what only the found one
// has, never nil.
func Compare(expected, found []Entry) (missing, unexpected []Entry) {
	missing, unexpected = []Entry{}, []Entry{}
	for _, e := range expected {
		if _, ok := slices.BinarySearchFunc(found, e, Order); !ok {
			missing = append(missing, e)
		}
	}
	for _, e := range found {
		if _, ok := slices.BinarySearchFunc(expected, e, Order); !ok {
			unexpected = append(unexpected, e)
		}
	}
	if len(missing)+len(unexpected) > 0 {
		mark.Hit("R24 not the expected diagnostics")
	}
	return missing, unexpected
}

// Canonical is the canonical business payload of a record (S3) as an RFC 8785 array of strings: item, location,
// transaction ID, revision, kind, valid time in UTC, quantity. Informational time and coordinates are no part of it.
// validTime is in nanoseconds since the Unix epoch.
func Canonical(item, location, txnID string, revision int64, kind string, validTime, qty int64) string {
	text := []byte{'['}
	for i, s := range []string{
		item, location, txnID, strconv.FormatInt(revision, 10), kind,
		time.Unix(0, validTime).UTC().Format(time.RFC3339Nano), strconv.FormatInt(qty, 10),
	} {
		if i > 0 {
			text = append(text, ',')
		}
		// Quoting fails for invalid UTF-8 alone, which no accepted record has; it is then replaced, not left out.
		text, _ = jsontext.AppendQuote(text, s)
	}
	return string(append(text, ']'))
}

// PayloadFingerprint is the SHA-256 of a canonical payload's bytes, in hex.
func PayloadFingerprint(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}
