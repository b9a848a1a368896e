// Package conformance reads the scenarios of the semantic contract (S12) as data and runs them at every level at which
// they apply: the pure core, the oracle's engines, the production stages over Postgres, and the whole pipeline over a
// broker. The files are written for people who write another implementation; see conformance/README.md for the format.
//
// What it upholds:
//
//  1. Expectations are worked out by hand. Nothing here writes one; only traces are generated.
//  2. A scenario is read strictly: an unknown member, a duplicate one, a fraction or a step of two kinds is an error.
//  3. Every level compares with the same expectation, by one comparison (observed.go), so that levels cannot drift apart.
//  4. A level that cannot run says why. It never counts as passed.
package conformance
