// Package conformance is the corpora of scenarios as data, for this program and for others; README.md in this folder, and
// in durable-owner, describe the formats.
package conformance

import (
	"embed"
	"io/fs"
)

//go:embed amends durable-owner/*.json
var files embed.FS

// Amends is the folder of the semantic scenarios (S12), one folder for each, with its scenario.yaml and traces. It is
// safe for concurrent use.
func Amends() (fs.FS, error) { return fs.Sub(files, "amends") }

// DurableOwner is the folder of the durable owner's corpus, four JSON files. It is safe for concurrent use.
func DurableOwner() (fs.FS, error) { return fs.Sub(files, "durable-owner") }
