package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"amends.dev/amends/internal/submission"
	"amends.dev/amends/stages/durability"
)

// summary is what a run did.
type summary struct {
	// Sent counts the transactions whose fate is known.
	Sent int `json:"sent"`
	// Performed are those performed by this run, by the level applied; Promised are those of them whose level completes
	// later; Found were there already, from an earlier run or an answer that was lost.
	Performed map[string]int `json:"performed"`
	Promised  int            `json:"promised"`
	Found     int            `json:"found"`
	// Refused are the refusals, by line.
	Refused []refusal `json:"refused"`
	// Lost and Retried count exchanges without an answer, and answers that said to come again.
	Lost    int `json:"lostAnswers"`
	Retried int `json:"retried"`
}

// refusal is one transaction that was not performed.
type refusal struct {
	Line   int    `json:"line"`
	Status int    `json:"status"`
	Error  string `json:"error"`
	Detail string `json:"detail,omitempty"`
}

// maxRefusals bounds the refusals that are listed as text.
const maxRefusals = 20

// state is a run under way.
type state struct {
	options *options
	client  *submission.Client
	mu      sync.Mutex
	summary summary
	err     error
	shown   time.Time
}

// run sends the file.
func (o *options) run(ctx context.Context, client *submission.Client) error {
	name, file, err := o.open()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if err := o.reach(ctx, client); err != nil {
		return err
	}
	s := &state{options: o, client: client, summary: summary{Performed: map[string]int{}, Refused: []refusal{}}}
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan line)
	var group sync.WaitGroup
	for range o.parallel {
		group.Go(func() {
			for l := range work {
				if err := s.send(sending, l); err != nil {
					s.fail(err)
					cancel()
				}
			}
		})
	}
	readErr := lines(name, file, func(l line) bool {
		select {
		case work <- l:
			return true
		case <-sending.Done():
			return false
		}
	})
	close(work)
	group.Wait()
	s.clear()
	if err := s.print(); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return s.outcome(ctx, readErr)
}

func (s *state) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// send sends one line and notes what became of it.
func (s *state) send(ctx context.Context, l line) error {
	a, err := s.client.Send(ctx, submission.Request{
		ID: requestID(l), Transaction: l.text, Level: s.options.level, MustHave: s.options.mustHave, Unchecked: s.options.unchecked,
	})
	if err != nil {
		return fmt.Errorf("line %d: %w", l.number, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := &s.summary
	sum.Sent, sum.Lost, sum.Retried = sum.Sent+1, sum.Lost+a.Lost, sum.Retried+a.Retried
	switch {
	case a.Found:
		sum.Found++
	case a.Performed():
		sum.Performed[a.Applied]++
		if a.Status == http.StatusAccepted {
			sum.Promised++
		}
	default:
		sum.Refused = append(sum.Refused, refusal{Line: l.number, Status: a.Status, Error: a.Error, Detail: a.Detail})
	}
	s.progress()
	switch a.Status {
	case http.StatusUnauthorized:
		return &refusedError{l.number, a.Error + ": " + a.Detail, "set --token-file, or --cert and --key, to what the intake accepts"}
	case http.StatusNotFound:
		return &refusedError{l.number, a.Error + ": " + a.Detail, "set -n to the namespace that the intake at --url serves"}
	}
	return nil
}

// progress redraws one line on a terminal, at most ten times in a second. The caller holds the lock.
func (s *state) progress() {
	a := s.options.app
	if now := a.Now(); a.StderrTTY && now.Sub(s.shown) > 100*time.Millisecond {
		s.shown = now
		_, _ = fmt.Fprintf(a.Stderr, "\r\033[K%d sent, %d found, %d refused", s.summary.Sent, s.summary.Found, len(s.summary.Refused))
	}
}

func (s *state) clear() {
	if s.options.app.StderrTTY {
		_, _ = fmt.Fprint(s.options.app.Stderr, "\r\033[K")
	}
}

// print writes the summary.
func (s *state) print() error {
	sum, out := &s.summary, s.options.app.Stdout
	slices.SortFunc(sum.Refused, func(a, b refusal) int { return a.Line - b.Line })
	if s.options.json {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(sum)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s:", counted(sum.Sent))
	for _, level := range slices.Sorted(maps.Keys(sum.Performed)) {
		name := level
		if level == string(durability.None) {
			name = "performed and not kept"
		}
		fmt.Fprintf(&text, " %d %s,", sum.Performed[level], name)
	}
	fmt.Fprintf(&text, " %d found there already, %d refused", sum.Found, len(sum.Refused))
	if sum.Promised > 0 {
		fmt.Fprintf(&text, "; %d complete later, see their handles", sum.Promised)
	}
	fmt.Fprintln(&text)
	if sum.Lost+sum.Retried > 0 {
		fmt.Fprintf(&text, "%d answers lost, %d times told to come again\n", sum.Lost, sum.Retried)
	}
	for n, r := range sum.Refused {
		if n == maxRefusals {
			fmt.Fprintf(&text, "and %d more (-o json lists them)\n", len(sum.Refused)-n)
			break
		}
		fmt.Fprintf(&text, "line %d: %d %s: %s\n", r.Line, r.Status, r.Error, r.Detail)
	}
	_, err := out.Write([]byte(text.String()))
	return err
}
