// Package postgres is the Postgres adapter of the stages: connections, schemas and their migrations, and the stores
// behind the ports of worker, relay, view and catalog (design section 5).
//
// One schema holds one thing: "amends" the catalog, amends_<name> the processing state of a namespace, and
// amends_<name>_view its view. SQL text never names a schema. Every connection of a pool carries the search_path of the
// pool's one schema instead, so all statements are constants, embedded from sql/*.sql, and two namespaces in one
// process cannot meet (B094). A transaction that spans schemas, as apply's does, moves between them with InSchema.
//
// Invariants kept here:
//
//  1. A unit of work locks its partition row in its first statement, before it reads anything that may change (B033).
//  2. Epoch and frontier are compared under that lock, and again in the statement that writes the frontier.
//  3. A commit is reported as failed only where it certainly did not happen; everything else is worker.ErrUnknownOutcome.
package postgres
