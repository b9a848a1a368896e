// Package apply is `amendsctl apply`: parse a manifest, observe what exists, plan, print, do (design section 4). The
// package is also the only place that observes and does, so that `plan`, `demo` and tests use the same code.
//
// What it upholds:
//
//  1. Nothing is touched unless the whole plan is free of refusals (R04).
//  2. Looking (Observe, `plan`, --dry-run) writes nothing, not even the catalog's schema.
//  3. The namespace is recorded last, in one transaction with its processing state. Whatever an interrupted apply left
//     is found equal by the next one, which completes it.
package apply
