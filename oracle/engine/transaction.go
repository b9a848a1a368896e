package engine

import "amends.dev/amends/manifests"

// Transaction is what an accepted record asserts (S3), as an engine's own decoder read it.
type Transaction struct {
	Item, Location, TxnID string
	// Revision is 1..MaxInt64.
	Revision int64
	// Kind is NEW, AMEND or CANCEL.
	Kind string
	// ValidTime is in nanoseconds since the Unix epoch, Qty the signed movement.
	ValidTime, Qty int64
}

// Reader is an engine that shows what it reads: who compares payloads must not fall back on another engine's decoder,
// which may be the one that built the state (R26).
type Reader interface {
	Engine
	// Decoder is the name of the engine's decoder, as a namespace's built_by spells it.
	Decoder() string
	// Reading returns a function that decodes records of a namespace, by one goroutine; false for a rejected record.
	Reading(ns *manifests.Namespace) func(Record) (Transaction, bool)
}
