package durabilityprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

func (p *probe) bestEffort(ctx context.Context) error {
	return p.every(ctx, func(m marker, a *answer) error {
		if !m.MustHave && !a.performed() {
			return errors.New("refused")
		}
		return nil
	})
}

// free proves that a refused request left nothing: the same ID is accepted at the weakest level.
func (p *probe) free(ctx context.Context, id string) error {
	for _, best := range p.levels {
		m := marker{Level: best}
		a, err := p.submit(ctx, id, &m)
		if err != nil {
			return err
		}
		if !a.performed() {
			return fmt.Errorf("the refused request was kept: the same ID at %s: %s", best, a)
		}
		if a.field != nil && !is(a.field.Applied, "none") {
			return nil // now it is taken
		}
	}
	return nil
}

func (p *probe) mustHave(ctx context.Context) error {
	seen := 0
	for _, level := range p.levels {
		id := p.id()
		a, err := p.submit(ctx, id, &marker{Level: level, MustHave: true})
		if err != nil {
			return err
		}
		if a.status != http.StatusPreconditionFailed {
			continue
		}
		seen++
		if a.field == nil || !is(a.field.Reason, "durability_required_unmet") && !is(a.field.Reason, "unknown_level") || !is(a.field.Applied, "none") {
			return fmt.Errorf("%s: %s", level, a)
		}
		if err := p.free(ctx, id); err != nil {
			return err
		}
	}
	if seen == 0 {
		return notMade("every level that was asked for is provided; unknown-required covers the refusal")
	}
	return nil
}

func (p *probe) mustHaveMet(ctx context.Context) error {
	return p.every(ctx, func(m marker, a *answer) error {
		if !m.MustHave || !a.performed() {
			return nil
		}
		if a.field == nil || a.field.Applied == nil {
			return errNoField
		}
		if !p.atLeast(*a.field.Applied, m.Level) && (a.field.Committed == nil || !p.atLeast(*a.field.Committed, m.Level)) {
			return errors.New("performed with less than must be had")
		}
		return nil
	})
}

func (p *probe) maxAvailable(ctx context.Context) error {
	return p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil {
			return errNoField
		}
		if (a.field.MaxAvailable != nil) != (a.status == http.StatusPreconditionFailed) {
			return errors.New("max_available and status 412 do not come together")
		}
		if a.field.MaxAvailable == nil {
			return nil
		}
		again, err := p.submit(ctx, p.id(), &marker{Level: *a.field.MaxAvailable, MustHave: true})
		if err != nil {
			return err
		}
		if !again.performed() {
			return fmt.Errorf("max_available %s cannot be had: %s", *a.field.MaxAvailable, again)
		}
		for _, level := range p.levels {
			if p.atLeast(*a.field.MaxAvailable, level) {
				continue
			}
			better, err := p.submit(ctx, p.id(), &marker{Level: level, MustHave: true})
			if err != nil {
				return err
			}
			if better.performed() {
				return fmt.Errorf("max_available is %s, and %s can be had", *a.field.MaxAvailable, level)
			}
		}
		return nil
	})
}

func (p *probe) unknownRequired(ctx context.Context) error {
	id := p.id()
	a, err := p.submit(ctx, id, &marker{Level: p.unknown, MustHave: true})
	if err != nil {
		return err
	}
	if a.status != http.StatusPreconditionFailed || a.field == nil || !is(a.field.Reason, "unknown_level") || !is(a.field.Applied, "none") || a.field.MaxAvailable == nil {
		return fmt.Errorf("want 412 unknown_level with max_available: %s", a)
	}
	return p.free(ctx, id)
}

func (p *probe) unknownBestEffort(ctx context.Context) error {
	a, err := p.submit(ctx, p.id(), &marker{Level: p.unknown})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK || a.field == nil || !is(a.field.Applied, "none") || !is(a.field.Reason, "unknown_level") || a.field.Handle != nil {
		return fmt.Errorf("want 200, applied none, unknown_level: %s", a)
	}
	return nil
}

func (p *probe) handle(ctx context.Context) error {
	seen := 0
	err := p.every(ctx, func(_ marker, a *answer) error {
		if a.field == nil || a.field.Applied == nil {
			return errNoField
		}
		if (a.field.Handle != nil) != (*a.field.Applied != "none" || a.status == http.StatusAccepted) {
			return errors.New("a handle too many or too few")
		}
		if a.field.Handle == nil {
			return nil
		}
		seen++
		entry, err := p.entry(ctx, *a.field.Handle)
		if err == nil && entry.status != http.StatusOK {
			err = fmt.Errorf("the handle cannot be read: %s", entry)
		}
		return err
	})
	if err == nil && seen == 0 {
		return notMade("no answer has a handle")
	}
	return err
}

// kept sends a request that is kept, and returns its ID and handle; errNotMade where this server keeps nothing.
func (p *probe) kept(ctx context.Context) (id, handle string, m marker, err error) {
	for _, level := range slices.Backward(p.levels) {
		m := marker{Level: level}
		id := p.id()
		a, err := p.submit(ctx, id, &m)
		if err != nil {
			return "", "", m, err
		}
		if a.performed() && a.field != nil && a.field.Handle != nil && a.field.Applied != nil {
			return id, *a.field.Handle, marker{Level: *a.field.Applied}, nil // which can be had, also where it must be
		}
	}
	return "", "", marker{}, notMade("this server keeps nothing")
}

func (p *probe) duplicate(ctx context.Context) error {
	id, _, m, err := p.kept(ctx)
	if err != nil {
		return err
	}
	for _, transaction := range []json.RawMessage{p.Transaction, json.RawMessage(`{"other":"content"}`)} {
		for _, must := range []bool{false, true} {
			m.MustHave = must
			a, err := p.send(ctx, id, transaction, &m)
			if err != nil {
				return err
			}
			if a.status != http.StatusConflict || a.field == nil || !is(a.field.Reason, "duplicate_request_id") || !is(a.field.Applied, "none") || a.field.Handle != nil {
				return fmt.Errorf("want 409 duplicate_request_id: %s", a)
			}
			if a.field.Committed != nil || a.field.MaxAvailable != nil {
				return fmt.Errorf("committed is of 202 and max_available of 412: %s", a)
			}
		}
	}
	return nil
}

func (p *probe) prior(ctx context.Context) error {
	id, handle, m, err := p.kept(ctx)
	if err != nil {
		return err
	}
	before, err := p.entry(ctx, handle)
	if err != nil {
		return err
	}
	if _, err := p.send(ctx, id, json.RawMessage(`{"other":"content"}`), &m); err != nil {
		return err
	}
	after, err := p.entry(ctx, handle)
	if err != nil {
		return err
	}
	if after.status != http.StatusOK {
		return fmt.Errorf("the prior entry is gone: %s", after)
	}
	for name, value := range before.body { // what happened meanwhile may be added, and the level may have risen
		if name != "level" && string(after.body[name]) != string(value) {
			return fmt.Errorf("%s was %s and is %s", name, value, after.body[name])
		}
	}
	return nil
}

func (p *probe) reasons(ctx context.Context) error {
	return p.every(ctx, func(m marker, a *answer) error {
		if a.field == nil {
			return errNoField
		}
		reason := ""
		if a.field.Reason != nil {
			reason = *a.field.Reason
		}
		switch {
		case m.Level == p.unknown && reason != "unknown_level",
			a.status == http.StatusPreconditionFailed && reason != "unknown_level" && reason != "durability_required_unmet",
			a.status == http.StatusOK && m.Level != p.unknown && m.Level != "none" && is(a.field.Applied, "none") && reason != "no_durable_store" && reason != "unknown_level":
			return fmt.Errorf("reason %q", reason)
		}
		return nil
	})
}

func (p *probe) unmarked(ctx context.Context) error {
	id := p.id()
	for range 2 {
		a, err := p.submit(ctx, id, nil)
		if err != nil {
			return err
		}
		if a.status != http.StatusOK {
			return fmt.Errorf("want 200: %s", a)
		}
		if _, has := a.body["durability"]; has {
			return fmt.Errorf("a durability field that nobody asked for: %s", a)
		}
	}
	return nil
}

func (p *probe) advertisement(ctx context.Context) error {
	levels, a, err := p.advertised(ctx)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return notMade("nothing is advertised, which is allowed")
	}
	if len(levels) == 0 {
		return fmt.Errorf("the advertisement cannot be read: %s", a)
	}
	for _, level := range levels {
		a, err := p.submit(ctx, p.id(), &marker{Level: level, MustHave: true})
		if err != nil {
			return err
		}
		if !a.performed() {
			return fmt.Errorf("%s is advertised: %s", level, a)
		}
	}
	return nil
}
