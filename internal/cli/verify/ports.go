package verify

import (
	"context"
	"fmt"
	"time"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
)

// Connections say where a verification finds its parts.
type Connections struct {
	// StateURL is the database of catalog and processing state; ViewURL that of the view, which may be the same.
	StateURL, ViewURL string
	// Brokers reaches the topics.
	Brokers source.Config
}

// Connect opens the ports of a verification, with both engines and real time, for oracle/verify.Run. The caller calls
// the returned function when done. Databases are connected to at once, brokers at the first request.
func Connect(ctx context.Context, c Connections) (verify.Deps, func(), error) {
	state, err := pgview.Open(ctx, c.StateURL)
	if err != nil {
		return verify.Deps{}, nil, err
	}
	view, err := pgview.Open(ctx, c.ViewURL)
	if err != nil {
		state.Close()
		return verify.Deps{}, nil, fmt.Errorf("view: %w", err)
	}
	topics, err := source.Open(c.Brokers)
	if err != nil {
		state.Close()
		view.Close()
		return verify.Deps{}, nil, err
	}
	deps := verify.Deps{State: state, View: view, Topics: topics, Engines: Engines(), Clock: clock{}}
	return deps, func() { topics.Close(); view.Close(); state.Close() }, nil
}

// Engines are the engines of this build, in the order in which auto tries them.
func Engines() []engine.Engine { return []engine.Engine{arrow.Engine{}, reference.Engine{}} }

// clock is real time.
type clock struct{}

// Now implements verify.Clock.
func (clock) Now() time.Time { return time.Now() }

// Sleep implements verify.Clock.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
