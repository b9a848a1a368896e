// Package worker decides source records and commits the decisions: the shell around stages/ledger (S6, S8). It sees log
// and database only through ports, starts no goroutine and never sleeps.
//
// A partition goes through these states:
//
//	assigned ──▶ acquiring ──InstallEpoch──▶ owning ──▶ (revoked: forgotten)
//	                 ▲                          │
//	                 ├──────── fenced ◀─────────┤  another epoch or frontier is in the database
//	                 ├──────── unsure ◀─────────┤  a commit's outcome is unknown: read the row under its lock
//	                 └──────── stopped ◀────────┘  overflow or bug, persisted; never resumes by itself
//
// Invariants kept here:
//
//  1. An epoch is installed by comparing with the epoch read and the generation of the assignment that the reading was
//     done for, and only while that assignment is still the newest known (R16). The database refuses equal generations
//     of others and lower ones, so an assignment that went stale unnoticed cannot win either.
//  2. The cache is used only under the epoch and at the frontier that it was filled at. Everything but a commit known to
//     have succeeded drops it, together with everything polled ahead (R15).
//  3. The frontier moves only by committing (S8): over data records decided, over control records and gaps delivered by
//     the reader, and never to the log's end by itself (R08).
//  4. Where a record cannot be decided, everything before it is committed, the reason is persisted, and the frontier
//     stays at that record's offset (R09).
package worker
