// Package derive computes everything that a source history amounts to, key by key, and writes it as a derived-state
// dataset (R26): evidence, authority, conflicts, activity days with closes and crossings, trust statuses and rejected
// records. Package compare and the projections need results alone; a bulk rebuild needs the facts from which the worker
// goes on.
//
// Its decoder is that of the engine arrow, so that only an engine with another one may judge what is built from it.
package derive
