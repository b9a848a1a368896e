// Package worlds holds the tests that let the judges contradict the worker: every order of every small history, random
// hostile histories, and histories that are processed in other ways (docs/explanation/judges.md says what was run and
// found). All of it is in test files. The reference engine is the naive judge, the arrow engine the second one; the
// worker is the core in stages/ledger with an in-memory store, and the production shell in stages/worker.
//
// go test runs a short form. AMENDS_LONG=1 runs the complete one:
//
//	AMENDS_LONG=1 go test -timeout 1h -v -run 'TestSmallWorlds|TestHistories|TestMetamorphic' ./internal/worlds
package worlds
