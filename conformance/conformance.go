// Package conformance is the corpus of scenarios as data, for this program and for others; README.md in this folder
// describes the format.
package conformance

import (
	"embed"
	"io/fs"
)

//go:embed amends
var files embed.FS

// Amends is the folder of the semantic scenarios (S12), one folder for each, with its scenario.yaml and traces. It is
// safe for concurrent use.
func Amends() (fs.FS, error) { return fs.Sub(files, "amends") }
