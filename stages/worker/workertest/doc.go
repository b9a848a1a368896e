// Package workertest holds the worker's ports in memory, for tests and the simulator: a stateful Store with injected
// commit outcomes, a log with control records and gaps, and a group whose assignments the test decides. The Store passes
// the same suite as Postgres's (package storetest). Nothing here waits on a clock or starts a goroutine.
package workertest
