package durabilityprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// check is one sentence of the contract. run returns a fault in words, or errNotMade with the reason.
type check struct {
	id, says string
	run      func(p *probe, ctx context.Context) error
}

// errNotMade says that nothing on this server leads to the case.
var errNotMade = errors.New("not made")

// checks are all of them, in the order of running.
func checks() []check {
	return []check{
		{"no-silent-discard", "a durability_request is never silently discarded: every answer to one has the durability field", (*probe).noDiscard},
		{"shape", "the durability field has the pinned shape", (*probe).shape},
		{"echo", "requested is what was asked for, as sent", (*probe).echo},
		{"applied-concrete", "applied is a level that the server knows, or none", (*probe).concrete},
		{"applied-in-place", "applied is physically in place: the handle shows at least that level", (*probe).inPlace},
		{"committed-202", "committed appears exactly with status 202, and comes true at the handle", (*probe).promises},
		{"best-effort", "without must_have no request is refused for its level", (*probe).bestEffort},
		{"must-have", "must_have that cannot be met is 412 with its reason, and nothing is performed: the ID is still free", (*probe).mustHave},
		{"must-have-met", "must_have that is not refused is applied or committed", (*probe).mustHaveMet},
		{"max-available", "max_available appears exactly with status 412, and what it names can be had", (*probe).maxAvailable},
		{"unknown-required", "an unknown level with must_have fails closed: 412 unknown_level, and nothing is performed", (*probe).unknownRequired},
		{"unknown-best-effort", "an unknown level without must_have is 200, applied none, unknown_level", (*probe).unknownBestEffort},
		{"handle", "a handle is there exactly where something is applied or committed, and can be read", (*probe).handle},
		{"duplicate", "the same ID again is 409 duplicate_request_id, applied none, without a handle, also for other content", (*probe).duplicate},
		{"prior-stands", "after a duplicate the prior entry is what it was", (*probe).prior},
		{"reasons", "reasons are spelt as pinned", (*probe).reasons},
		{"unmarked", "a request without durability_request is answered as if there were no extension", (*probe).unmarked},
		{"advertisement", "levels that are advertised are provided", (*probe).advertisement},
	}
}

// Count is how many checks there are.
func Count() int { return len(checks()) }

// Run makes all checks. done, where not nil, is told each outcome. The error is that of a server which cannot be asked at
// all, or of ctx.
func Run(ctx context.Context, options Options, done func(Outcome)) ([]Outcome, error) {
	p := &probe{Options: options, unknown: "no-such-level-" + options.Run}
	if p.Patience <= 0 {
		p.Patience = 30 * time.Second
	}
	levels, _, err := p.advertised(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.welcome(ctx); err != nil {
		return nil, err
	}
	for _, level := range slices.Concat([]string{"none"}, levels, options.Levels) {
		if !slices.Contains(p.levels, level) {
			p.levels = append(p.levels, level)
		}
	}
	var outcomes []Outcome
	for _, c := range checks() {
		out := Outcome{ID: c.id, Says: c.says, Result: Passed}
		if err := c.run(p, ctx); err != nil {
			out.Result, out.Found = Failed, err.Error()
			if errors.Is(err, errNotMade) {
				out.Result = NotMade
			}
		}
		if err := ctx.Err(); err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, out)
		if done != nil {
			done(out)
		}
	}
	return outcomes, nil
}

// welcome asks for what nobody can perform. A server which says that there is no such place, that this sender may not, or
// that it cannot at present, would fail every check for a reason that is none of the contract's.
func (p *probe) welcome(ctx context.Context) error {
	a, err := p.submit(ctx, p.id(), &marker{Level: p.unknown, MustHave: true})
	if err != nil {
		return err
	}
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusServiceUnavailable, http.StatusTooManyRequests: // after all tries
		return fmt.Errorf("%s takes no requests of this sender for namespace %s now: %s", p.URL, p.Namespace, a)
	}
	return nil
}

// notMade gives the reason.
func notMade(reason string) error { return fmt.Errorf("%w: %s", errNotMade, reason) }

// every asks for each level, the unknown one included, both ways, and hands the answers to judge.
func (p *probe) every(ctx context.Context, judge func(m marker, a *answer) error) error {
	for _, level := range append(slices.Clone(p.levels), p.unknown) {
		for _, must := range []bool{false, true} {
			m := marker{Level: level, MustHave: must}
			a, err := p.submit(ctx, p.id(), &m)
			if err != nil {
				return err
			}
			if err := judge(m, a); err != nil {
				return fmt.Errorf("%s (must_have %t): %w: %s", m.Level, must, err, a)
			}
		}
	}
	return nil
}

// errNoField is a missing durability field.
var errNoField = errors.New("no readable durability field")

func (p *probe) noDiscard(ctx context.Context) error {
	err := p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil {
			return errNoField
		}
		return nil
	})
	if err != nil {
		return err
	}
	body := []byte(`{"request_id":"` + p.id() + `","transaction":{},"durability_request":{"level":"none"},"no such member":1}`)
	a, err := p.do(ctx, http.MethodPost, "/v1/namespaces/"+p.Namespace+"/transactions", body)
	if err != nil {
		return err
	}
	if a.field == nil {
		return fmt.Errorf("a malformed request with a marker: %w: %s", errNoField, a)
	}
	return nil
}

func (p *probe) shape(ctx context.Context) error {
	known := []string{"requested", "applied", "committed", "max_available", "handle", "reason"}
	return p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil || a.field.Requested == nil || a.field.Applied == nil {
			return errors.New("requested or applied is missing")
		}
		for name, value := range a.raw {
			var text string
			if !slices.Contains(known, name) || json.Unmarshal(value, &text) != nil || string(value) == "null" {
				return fmt.Errorf("member %s is not of the shape", name)
			}
		}
		return nil
	})
}

func (p *probe) echo(ctx context.Context) error {
	if err := p.every(ctx, func(m marker, a *answer) error {
		if a.field == nil || !is(a.field.Requested, m.Level) {
			return errors.New("requested is not what was asked for")
		}
		return nil
	}); err != nil {
		return err
	}
	m := marker{Level: " Stored \"ä\u2028<&>"}
	a, err := p.submit(ctx, p.id(), &m)
	if err != nil {
		return err
	}
	if a.field == nil || !is(a.field.Requested, m.Level) {
		return fmt.Errorf("an odd level is not echoed as sent: %s", a)
	}
	return nil
}

func (p *probe) concrete(ctx context.Context) error {
	return p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil || a.field.Applied == nil || !slices.Contains(p.levels, *a.field.Applied) {
			return errors.New("applied is no level of this server")
		}
		return nil
	})
}

// level is what an entry shows as its level.
func level(entry *answer) string {
	var text string
	if json.Unmarshal(entry.body["level"], &text) != nil {
		return ""
	}
	return text
}

// atLeast compares levels in the order in which they are known; unknown ones are below all.
func (p *probe) atLeast(have, want string) bool {
	return slices.Index(p.levels, have) >= slices.Index(p.levels, want) && slices.Contains(p.levels, have)
}

func (p *probe) inPlace(ctx context.Context) error {
	seen := 0
	err := p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil || a.field.Applied == nil || *a.field.Applied == "none" {
			return nil
		}
		if a.field.Handle == nil {
			return errors.New("applied without a handle")
		}
		entry, err := p.entry(ctx, *a.field.Handle)
		if err != nil {
			return err
		}
		seen++
		if entry.status != http.StatusOK || !p.atLeast(level(entry), *a.field.Applied) {
			return fmt.Errorf("right after it the handle shows %s", entry)
		}
		return nil
	})
	if err == nil && seen == 0 {
		return notMade("nothing was applied")
	}
	return err
}

func (p *probe) promises(ctx context.Context) error {
	seen := 0
	err := p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil {
			return errNoField
		}
		if (a.field.Committed != nil) != (a.status == http.StatusAccepted) {
			return errors.New("committed and status 202 do not come together")
		}
		if a.status != http.StatusAccepted {
			return nil
		}
		seen++
		if a.field.Handle == nil {
			return errors.New("202 without a handle")
		}
		return p.comesTrue(ctx, *a.field.Handle, *a.field.Committed)
	})
	if err == nil && seen == 0 {
		return notMade("nothing was answered with 202")
	}
	return err
}

// comesTrue waits until a handle shows what was committed.
func (p *probe) comesTrue(ctx context.Context, handle, committed string) error {
	var entry *answer
	for waited := time.Duration(0); waited <= p.Patience; waited += lookEvery {
		var err error
		if entry, err = p.entry(ctx, handle); err != nil {
			return err
		}
		if p.atLeast(level(entry), committed) {
			return nil
		}
		if err := p.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s did not come true in %s: the handle shows %s", committed, p.Patience, entry)
}

// lookEvery is the pause between two looks at a handle.
const lookEvery = 100 * time.Millisecond
