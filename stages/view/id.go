package view

import (
	"cmp"
	"time"
)

// Family is the kind of fact an output ID names (S7).
type Family int8

// The families of semantics version 1.
const (
	// FamilyBalance is the daily closing balance of a stock key.
	FamilyBalance Family = 1
	// FamilyAlert is a downward crossing of a stock key on a day.
	FamilyAlert Family = 2
	// FamilyStatus is the trust status of a stock key; its IDs have Day 0.
	FamilyStatus Family = 3
)

// String returns the family's name as it stands in output IDs.
func (f Family) String() string {
	switch f {
	case FamilyBalance:
		return "balance"
	case FamilyAlert:
		return "alert"
	case FamilyStatus:
		return "key-status"
	default:
		return "unknown"
	}
}

// ID is an output identity within one namespace (S7), with the stock key as its index in the manifest.
type ID struct {
	Family Family
	// KeyID is the index of the stock key in the sorted stock keys of the manifest.
	KeyID int32
	// Day is days since the Unix epoch; 0 for FamilyStatus.
	Day int32
}

// dayLayout is the text of a day in output IDs and payloads.
const dayLayout = "2006-01-02"

const secondsPerDay = 86400

// parseDay reads a calendar day of exactly ten ASCII characters.
func parseDay(text string) (int32, bool) {
	if len(text) != len(dayLayout) {
		return 0, false
	}
	at, err := time.Parse(dayLayout, text)
	if err != nil {
		return 0, false
	}
	return int32(at.Unix() / secondsPerDay), true // midnight divides exactly, before 1970 too
}

// FormatDay renders days since the Unix epoch as they stand in output IDs: 2026-01-31.
func FormatDay(day int32) string {
	return time.Unix(int64(day)*secondsPerDay, 0).UTC().Format(dayLayout)
}

// Compare orders IDs by family, key, day.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		cmp.Compare(id.Family, other.Family),
		cmp.Compare(id.KeyID, other.KeyID),
		cmp.Compare(id.Day, other.Day),
	)
}
