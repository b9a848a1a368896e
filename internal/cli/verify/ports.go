package verify

import (
	"context"
	"fmt"
	"time"

	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
)

// Connect opens the ports of a verification, with both engines and real time, for oracle/verify.Run. The caller calls
// the returned function when done. That every server answers is proven first, so that the error is one line that says
// what to do; no error shows a password.
func Connect(ctx context.Context, c connect.Connections) (verify.Deps, func(), error) {
	return connectFor(ctx, c, verify.DefaultTimeout)
}

// connectFor is Connect for a history that may stall for the given time.
func connectFor(ctx context.Context, c connect.Connections, stall time.Duration) (verify.Deps, func(), error) {
	if err := reachable(ctx, c); err != nil {
		return verify.Deps{}, nil, err
	}
	holder, err := pipeline.NewHolder()
	if err != nil {
		return verify.Deps{}, nil, err
	}
	state, err := pgview.Open(ctx, c.StateURL())
	if err != nil {
		return verify.Deps{}, nil, err
	}
	view, err := pgview.Open(ctx, c.ViewURL())
	if err != nil {
		state.Close()
		return verify.Deps{}, nil, fmt.Errorf("view: %w", err)
	}
	brokers := c.JudgeBrokers()
	brokers.Stall = stall
	topics, err := source.Open(brokers)
	if err != nil {
		state.Close()
		view.Close()
		return verify.Deps{}, nil, err
	}
	deps := verify.Deps{
		State: state, View: view, Topics: topics, Engines: Engines(), Clock: clock{},
		Writers: state, Holder: holderPrefix + holder,
	}
	return deps, func() { topics.Close(); view.Close(); state.Close() }, nil
}

// holderPrefix begins the names of verifications in the writer lease.
const holderPrefix = "verify-"

// reachable proves that databases and brokers answer.
func reachable(ctx context.Context, c connect.Connections) error {
	if err := c.Check(); err != nil {
		return err
	}
	catalog, err := c.Catalog(ctx)
	if err != nil {
		return err
	}
	catalog.Close()
	views, err := c.Views(ctx)
	if err != nil {
		return err
	}
	views.Close()
	admin, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	admin.Close()
	return nil
}

// Engines are the engines of this build, in the order in which auto tries them.
func Engines() []engine.Engine { return []engine.Engine{arrow.Engine{}, reference.Engine{}} }

// clock is real time, with alarms.
type clock struct{ machine.Clock }

var _ verify.Alarms = clock{}

// AfterFunc implements verify.Alarms.
func (clock) AfterFunc(d time.Duration, f func()) verify.Alarm { return time.AfterFunc(d, f) }
