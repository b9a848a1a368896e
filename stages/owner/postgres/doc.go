// Package postgres keeps durable owners in Postgres: it implements owner.Store over the tables of the owner layout, which
// stand in a namespace's state schema, or in a schema of their own (R27-R29).
//
// The rules are those of package owner. This package locks and reads what they need, lets them decide, and writes what
// they say, in one transaction of two round trips however many owners are in it:
//
//  1. The rows of all owners are locked in the order of their identities, before anything else is read. Identities of
//     inputs, effects and receipts belong to an owner, so that its lock guards them all.
//  2. An owner that does not exist cannot be locked. Where two transactions create one, the second waits at the unique
//     identity for the end of the first, and then begins anew and finds it.
//  3. Numbers that order things are drawn under the locks. Across owners they say nothing about the order of commits, and
//     nothing is ever looked for above a number: an effect is pending because its row is there (B052).
//  4. An error after COMMIT was sent, and not answered by the server, is owner.ErrUnknownOutcome.
package postgres
