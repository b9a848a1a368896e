// Package schemas holds the JSON Schemas (2020-12) and the list of rejection reasons that describe every document
// amends reads and writes, as data for this program and for others.
package schemas

import (
	"bytes"
	"embed"
	"fmt"
)

//go:embed manifest.json
var manifest []byte

//go:embed *.json
var files embed.FS

// Files is the embedded file system with every document of this folder at its root. Reading it cannot fail for a
// name that exists. It is safe for concurrent use.
func Files() embed.FS { return files }

// Read returns the document of the given file name, such as manifest.json. The error names a file that does not exist.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return data, nil
}

// Manifest returns the JSON Schema of the namespace manifest (design section 4), a copy for the caller to keep.
func Manifest() []byte { return bytes.Clone(manifest) }
