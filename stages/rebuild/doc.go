// Package rebuild loads a derived-state dataset into the fresh state of a namespace (R26, S11): facts that an engine
// computed from the whole history become the rows from which the worker goes on, and envelopes are rendered from them as
// the worker renders them. Nothing is decided here.
//
// Invariants:
//
//   - rebuild.1: a partition is loaded in one transaction with its frontier H and a fresh epoch, or not at all.
//   - rebuild.2: only an untouched partition is loaded; one that this rebuild loaded before is left as it is, so that an
//     interrupted rebuild is finished by running it again.
//   - rebuild.3: a dataset of another configuration, topic or H is refused before anything is written.
package rebuild
