package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/sim"
)

// progressEvery is the time between two lines of progress on stderr.
const progressEvery = 5 * time.Second

// summary is what a sweep came to, and its JSON form.
type summary struct {
	First   uint64         `json:"first"`
	Last    uint64         `json:"last"`
	Code    string         `json:"code"`
	Seeds   int            `json:"seeds"`
	Records int            `json:"records"`
	Steps   int            `json:"steps"`
	Seconds float64        `json:"seconds"`
	Verdict map[string]int `json:"verdicts"`
	Faults  map[string]int `json:"faults"`
	Finding *found         `json:"finding"`
}

// found is the first finding of a sweep, shortened.
type found struct {
	Seed    uint64   `json:"seed"`
	Checker string   `json:"checker"`
	Detail  string   `json:"detail"`
	Events  []string `json:"events"`
	Actions []string `json:"actions"`
	Trace   []string `json:"trace"`
}

// traced is one seed in JSON.
type traced struct {
	Seed    uint64       `json:"seed"`
	Code    string       `json:"code"`
	Records int          `json:"records"`
	Actions int          `json:"actions"`
	Steps   int          `json:"steps"`
	Faults  int          `json:"faults"`
	Verdict string       `json:"verdict"`
	Finding *sim.Failure `json:"finding"`
	Digest  string       `json:"digest"`
	Trace   []string     `json:"trace"`
}

func newTraced(r *sim.Result) traced {
	return traced{
		Seed: r.Seed, Code: version.Current().String(), Records: r.Records, Actions: r.Actions, Steps: r.Steps, Faults: r.Faults,
		Verdict: string(r.Verdict), Finding: r.Failure, Digest: r.Digest, Trace: r.Trace,
	}
}

// sweep runs a range of seeds until the first finding.
func sweep(ctx context.Context, a *app.App, first, count uint64, asJSON bool) error {
	began := a.Now()
	s := summary{
		First: first, Last: first + count - 1, Code: version.Current().String(), Verdict: map[string]int{}, Faults: map[string]int{},
	}
	if !asJSON {
		fmt.Fprintf(a.Stdout, "seeds %d to %d, code %s\n", s.First, s.Last, s.Code)
	}
	next := began.Add(progressEvery)
	var failed *sim.Result
	err := sim.Sweep(ctx, first, count, func(r *sim.Result) bool {
		s.add(r)
		if now := a.Now(); !now.Before(next) {
			next = now.Add(progressEvery)
			fmt.Fprintf(a.Stderr, "%d of %d seeds\n", s.Seeds, count)
		}
		if r.Failure != nil {
			failed = r
		}
		return failed == nil
	})
	s.Seconds = a.Now().Sub(began).Seconds()
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	if failed != nil {
		if s.Finding, err = shorten(ctx, a.Stderr, failed); err != nil {
			return err
		}
	}
	if asJSON {
		err = writeJSON(a.Stdout, s)
	} else {
		err = s.write(a.Stdout)
	}
	if err != nil || failed == nil {
		return err
	}
	return exit.With(exit.Error, fmt.Errorf("seed %d: %s: %s", failed.Seed, failed.Failure.Checker, failed.Failure.Detail))
}

func (s *summary) add(r *sim.Result) {
	s.Seeds++
	s.Records += r.Records
	s.Steps += r.Steps
	s.Verdict[verdict(r)]++
	for name, n := range r.Struck {
		s.Faults[name] += n
	}
}

// shorten reduces a finding to what it needs.
func shorten(ctx context.Context, progress io.Writer, failed *sim.Result) (*found, error) {
	fmt.Fprintf(progress, "seed %d: %s; shortening\n", failed.Seed, failed.Failure.Checker)
	f := &found{Seed: failed.Seed, Checker: failed.Failure.Checker, Detail: failed.Failure.Detail, Trace: failed.Trace}
	short, err := sim.Shorten(ctx, failed.Seed)
	if err != nil {
		return nil, fmt.Errorf("shorten seed %d: %w", failed.Seed, err)
	}
	if short != nil {
		f.Events, f.Actions, f.Trace, f.Detail = short.Events, short.Actions, short.Result.Trace, short.Result.Failure.Detail
	}
	return f, nil
}

// write prints the summary, a finding first.
func (s *summary) write(w io.Writer) error {
	if f := s.Finding; f != nil {
		fmt.Fprintf(w, "\nseed %d: %s: %s\n", f.Seed, f.Checker, f.Detail)
		fmt.Fprintf(w, "shortened to %d events and %d actions:\n", len(f.Events), len(f.Actions))
		for _, line := range append(slices.Clone(f.Actions), f.Trace...) {
			fmt.Fprintf(w, "  %s\n", line)
		}
		fmt.Fprintf(w, "\nthe whole of it: amendsctl sim --seed %d\n", f.Seed)
	}
	fmt.Fprintf(w, "\n%d seeds, %d records, %d steps in %.1f s\n\n", s.Seeds, s.Records, s.Steps, s.Seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	table(t, "verdict", s.Verdict)
	fmt.Fprintln(t)
	table(t, "fault", s.Faults)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if s.Finding == nil {
		if _, err := fmt.Fprintln(w, "\nno finding"); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// table prints counts by name.
func table(w io.Writer, title string, counts map[string]int) {
	fmt.Fprintf(w, "%s\tcount\n", title)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s\t%d\n", name, counts[name])
	}
}

// writeJSON prints one value.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
