// Command mutants shows that the tests can fail: it plants one fault at a time, those of testdata/mutants, and expects
// the named tests to find it.
//
//	go run ./internal/mutants                       all of them, one after the other
//	go run ./internal/mutants -only NAME            those whose name matches a regular expression
//	go run ./internal/mutants -table docs/mutants.md
//
// A fault is never written into a source file: the go command compiles a mutated copy in its place (-overlay). The exit
// code is 1 when a mutant is stale or does not compile, when fewer than 95 % are killed, and when one that survives
// does not say why no test can kill it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

// mutantsFolder is where the mutants are, below the root of the repository.
const mutantsFolder = "testdata/mutants"

// settings are the flags.
type settings struct {
	root, only, table string
	parallel          int
	timeout           time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.root, "root", ".", "the root of the repository")
	flag.StringVar(&s.only, "only", "", "only the mutants whose name matches this regular expression")
	flag.IntVar(&s.parallel, "p", 1, "how many mutants are tried at the same time")
	flag.DurationVar(&s.timeout, "timeout", 2*time.Minute, "time for the tests of one package; a test that hangs has found the fault")
	flag.StringVar(&s.table, "table", "", "also replace the result table in this Markdown file")
	flag.Parse()
	if err := interruptible(s); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// interruptible runs until the end or an interrupt.
func interruptible(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return run(ctx, s, os.Stdout)
}

// run is main with its streams given.
func run(ctx context.Context, s settings, out io.Writer) error {
	root, err := filepath.Abs(s.root)
	if err != nil {
		return err
	}
	only, err := regexp.Compile(s.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if s.table != "" && s.only != "" {
		return errors.New("-table wants all mutants: leave -only out")
	}
	mutants, err := load(root, only)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left is in the system's temporary folder
	l := &lab{root: root, temp: temp, timeout: s.timeout}
	if err := l.twins(ctx, mutants); err != nil {
		return err
	}
	results := l.all(ctx, mutants, max(1, s.parallel), func(r result) {
		_, _ = fmt.Fprintf(out, "%-9s %6.1fs  %-52s %s\n", r.outcome, r.took.Seconds(), r.mutant.name, r.detail)
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	score := count(results)
	_, _ = fmt.Fprintln(out, score)
	if s.table != "" {
		if err := replaceTable(s.table, results); err != nil {
			return err
		}
	}
	return score.verdict()
}
