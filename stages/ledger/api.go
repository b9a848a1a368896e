// (contract sketch; the owner of this package keeps these signatures)
package ledger

import "amends.dev/amends/manifests"

// Reason is why a record was rejected; schemas/reasons.json lists them in the order of checking (R05).
type Reason string

// Config is a namespace prepared for deciding records: key index, broker keys, partition mapping.
type Config struct{ Namespace *manifests.Namespace }
