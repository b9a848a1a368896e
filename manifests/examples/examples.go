// Package examples holds manifests that ship with the program.
package examples

import _ "embed" // the manifests

// DemoFile is the file name that errors about Demo show.
const DemoFile = "demo.yaml"

// Demo is the manifest of `amendsctl demo`.
//
//go:embed demo.yaml
var Demo []byte
