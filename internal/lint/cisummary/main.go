// Command cisummary reads the output of "go test -json" and prints what a person wants to know: a line for each
// package, the output of what failed, and the counts of what passed, failed and was skipped. It exits with 1 if a test
// failed, if anything was skipped although nothing may be, if a package took too long, or if the stream ended early.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	packageTimeMax := flag.Duration("package-time-max", 5*time.Minute, "fail if a package's tests took longer")
	skipsAllowed := flag.Bool("skips-allowed", false, "do not fail if a test was skipped")
	summaryFile := flag.String("summary-file", "", "also write the summary to this file")
	flag.Parse()
	os.Exit(run(os.Stdin, os.Stdout, *summaryFile, limits{packageTime: *packageTimeMax, skipsAllowed: *skipsAllowed}))
}

// run is main with its streams given; it returns the exit code.
func run(in io.Reader, out io.Writer, summaryFile string, limits limits) int {
	result := newResult()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			_, _ = io.WriteString(out, result.add(line))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			_, _ = fmt.Fprintf(out, "cisummary: read the test output: %v\n", err)
			return 1
		}
	}
	summary, ok := result.summary(limits)
	_, _ = io.WriteString(out, summary)
	if summaryFile != "" {
		if err := os.WriteFile(summaryFile, []byte(summary), 0o600); err != nil {
			_, _ = fmt.Fprintf(out, "cisummary: %v\n", err)
			return 1
		}
	}
	if !ok {
		return 1
	}
	return 0
}
