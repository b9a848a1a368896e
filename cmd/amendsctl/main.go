// Command amendsctl applies a namespace manifest, runs the correction pipeline and verifies what it stored.
package main

import (
	"os"

	"amends.dev/amends/internal/cli/root"
)

func main() {
	os.Exit(int(root.Main(root.Process(), os.Args[1:])))
}
