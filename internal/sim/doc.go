// Package sim is the deterministic simulator: the production shells of worker, relay and view, stepped by one schedule
// over an in-memory broker and in-memory stores that pass the same suites as Postgres's, while everything around them
// fails. There is no goroutine, no wall clock and no chance in a run: a seed decides the namespace, the history, the
// schedule and the faults before the first step, and the same seed gives the same trace, byte for byte.
//
// A run has three phases:
//
//  1. Chaos. The actions of the scenario are taken one after the other: step a stage, with at most one fault inside it;
//     produce records; let time pass; rebalance, deliver an assignment late, again or empty; restart a process. A frozen
//     process is frozen inside one of its calls: other actions are taken there and then, until it wakes.
//  2. Liveness. Faults are off, every process is up and the group is settled. The pipeline must drain in a bounded
//     number of rounds.
//  3. Judgement. The production verifier judges the view with the reference engine, and its verdict must be what the
//     history deserves by a calculation of the simulator's own.
//
// After every action each checker (files check_*.go) looks at what is durable, never at what a stage believes. Scenarios
// are data: a failing one is shortened by leaving out actions, faults and records while the same checker still fails.
//
// Invariants:
//
//  1. Actions may be taken in any state, so every part of a schedule is a schedule: that is what makes shortening work.
//  2. Faults stay within what the ports permit. A fault that production cannot have would find nothing worth knowing.
//  3. Every checker can fail: sabotage_test.go damages one part for each of them and wants it found.
//
// Not promised: that a schedule which was not drawn holds no surprise, or anything about Postgres and Kafka themselves;
// their adapters are tested on the real ones.
package sim
