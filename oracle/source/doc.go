// Package source is the oracle's own consumer: it looks topics up and reads finite histories of them under
// read_committed, with identity checks of its own (S10 step 5, R08, R23). It never goes through the stages.
//
// What it upholds:
//
//  1. A history is complete or an error: every visible record in [From, To) of each partition, in offset order.
//  2. It is of one topic incarnation: the topic ID is compared before and after.
//  3. It never resets a position: an offset that is not in the log is an error.
//  4. It never hangs: a history that makes no progress for Config.Stall is an error.
package source
