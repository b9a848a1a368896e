package ledger

import "amends.dev/amends/manifests"

// Config is a namespace prepared for deciding records: key index, broker keys, partition mapping.
type Config struct{ Namespace *manifests.Namespace }
