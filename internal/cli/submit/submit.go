// Package submit is `amendsctl submit`: it sends a file of transactions to an intake, and can be interrupted and run again.
package submit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/sender"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/submission"
	"amends.dev/amends/stages/durability"
)

// options are the verb's flags.
type options struct {
	app       *app.App
	records   string
	level     string
	mustHave  bool
	unchecked bool
	parallel  int
	attempts  int
	json      bool
}

// New returns the verb.
func New(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Send a file of transactions to an intake",
		Long: "submit sends each line of a file, a transaction as JSON, as one durable request. A request's ID follows from the\n" +
			"line's number and bytes, so that the same file sent again sends nothing twice: what is kept already is found at\n" +
			"its handle, and so is a request whose answer was lost. That holds for the levels stored and published; what is\n" +
			"sent with none is sent again. A server that cannot at present is asked again.\n\n" +
			"The exit code is 0 where every transaction was performed, 1 where some were refused, each of which is named.",
		Example: "  amendsctl submit -n shop --records transactions.jsonl --durability published --must-have\n" +
			"  amendsctl submit -n shop --records - --url https://intake.example.org --token-file token.txt -o json",
		Args: cobra.NoArgs,
	}
	flags := sender.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.records, "records", "", "file of transactions, one on each line; - for stdin")
	f.StringVar(&o.level, "durability", string(durability.Stored), "level to ask for: none, stored or published")
	f.BoolVar(&o.mustHave, "must-have", false, "refuse what cannot have that level")
	f.BoolVar(&o.unchecked, "unchecked", false, "pass the transactions on as they are, for the worker to reject")
	f.IntVar(&o.parallel, "parallel", 16, "requests at a time")
	f.IntVar(&o.attempts, "attempts", 0, "exchanges about one request before it is given up; 0 is without end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		o.json = output == "json"
		if err := o.check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		target, err := flags.Resolve(a, o.parallel)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return o.run(cmd.Context(), &submission.Client{
			URL: target.URL, Namespace: target.Namespace, Token: target.Token(), HTTP: target.HTTP, Sleep: sleep,
			Timeout: time.Minute, Attempts: o.attempts,
		})
	}
	return cmd
}

func (o *options) check() error {
	switch {
	case o.records == "":
		return errors.New("no file given; set --records")
	case !durability.Level(o.level).Recognised():
		return fmt.Errorf("--durability %s: want none, stored or published", o.level)
	case o.parallel < 1 || o.parallel > 1000:
		return fmt.Errorf("--parallel %d: want 1 to 1000", o.parallel)
	case o.attempts < 0:
		return fmt.Errorf("--attempts %d: want 0 or more", o.attempts)
	}
	return nil
}

// sleep waits, at most until ctx ends, whose error it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// maxLine bounds a line, in bytes.
const maxLine = 1 << 20

// line is one transaction of the file.
type line struct {
	number int
	text   json.RawMessage
}

// lines calls each with every line that is not empty. The error names file and line.
func lines(name string, r io.Reader, each func(line) bool) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; scanner.Scan(); n++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		if !json.Valid(text) {
			return fmt.Errorf("%s:%d: not JSON", name, n)
		}
		if !each(line{number: n, text: bytes.Clone(text)}) {
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// requestID follows from a line's number and bytes.
func requestID(l line) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", l.number, l.text))
	return "submit-" + hex.EncodeToString(sum[:16])
}

// open returns the file to read.
func (o *options) open() (string, io.ReadCloser, error) {
	if o.records == "-" {
		return "stdin", io.NopCloser(o.app.Stdin), nil
	}
	file, err := os.Open(o.records)
	if err != nil {
		return "", nil, exit.With(exit.Usage, fmt.Errorf("--records: %w", err))
	}
	return o.records, file, nil
}
