// Command evidence writes docs/evidence.md: for every sentence of the contract, every scenario, ruling, numbered package
// invariant and pitfall, the tests that hold it, or the reason why there is none.
//
//	go run ./internal/evidence        from the repository root
//
// The rows are data, written by hand, in internal/evidence/data. The tests of this package hold them to the code: every
// test named exists, every id has a row, every coverage mark is expected by a test, and the page is up to date. Nobody
// but a reader can hold a row to what its test really shows: a row claims what is written in the test, and no more.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pageName is the generated page below the repository root.
const pageName = "docs/evidence.md"

func main() {
	root := flag.String("root", ".", "the root of the repository")
	flag.Parse()
	os.Exit(run(*root, os.Stderr))
}

// run writes the page and returns the exit code. Faults of data and code go to out, one a line, and make it 1.
func run(root string, out io.Writer) int {
	page, faults, unlinked, err := generate(root)
	faults = append(faults, unlinked...)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, filepath.FromSlash(pageName)), page, 0o600)
	}
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, fault := range faults {
		_, _ = fmt.Fprintln(out, "evidence:", fault) // there is nowhere else to say it
	}
	if len(faults) > 0 {
		return 1
	}
	return 0
}

// generate renders the page from data and code, and says what is wrong with them, and with the links of marks to mutants.
func generate(root string) (page []byte, faults, unlinked []string, err error) {
	doc, err := load(root)
	if err != nil {
		return nil, nil, nil, err
	}
	code, err := scan(root)
	if err != nil {
		return nil, nil, nil, err
	}
	doc.attach(code.hits)
	return render(doc), append(doc.faults(), code.faults(doc)...), code.linkFaults(doc), nil
}
