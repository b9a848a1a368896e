// Package ownerconformance runs the corpus of the durable owner against a store: after every step it compares the
// complete image in every field, and it checks the relations of fingerprints, replays, restarts and reconciliations.
// conformance/durable-owner/README.md describes the files for people who write another implementation.
//
// What it upholds:
//
//  1. Files are read strictly: an unknown member, a missing one, a fraction or an unknown operation is an error that
//     names file, scenario and step.
//  2. Whatever an expectation states is compared. Of a result only "ack" and "through" may be left out, and then are not.
//  3. A crash is one: before the commit takes effect the store's process or connection is lost, and what comes after is
//     read by a new one.
package ownerconformance
