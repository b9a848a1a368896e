// Package derived writes a derived-state dataset: everything that a source history amounts to at H, as Parquet files, one
// for each table and source partition, and derived.json, which names every file with its rows and SHA-256 (R26,
// schemas/derived-state.json). It is what an engine hands to a bulk rebuild, which loads it as data.
//
// A dataset is written into a folder beside the final one and published by one rename: under its final name it is
// complete. An interrupted one is begun anew.
package derived
