// Package equivalence compares what the views of two namespaces show of one source history (S11, SC24): business values
// and trust statuses, not transport. Versions, output IDs, attribution and the order of messages may differ, and so may
// what is retained of BLOCKED keys (R26). Both namespaces must be drained to one and the same H, and stay there.
package equivalence
