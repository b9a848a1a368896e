// Package snapshot writes and reads the exported source history as a Parquet dataset (design section 7): typed columns
// as the oracle's decoder judged them in part-PPPPP-NNNNN.parquet, raw key and value bytes in raw-PPPPP-NNNNN.parquet
// with the same rows, and snapshot.json, which names every file with its rows, offsets and SHA-256.
//
// A new set is written into a folder beside the final one and published by one rename. A later export adds files to
// the set and publishes them by renaming a new snapshot.json over the old one. An interrupted export leaves what was
// there before, and the next one goes on behind its last complete files. Reading verifies the digest of every file it
// uses, counts its rows against snapshot.json, and never trusts a file that snapshot.json does not name.
package snapshot
