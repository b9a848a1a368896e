package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"amends.dev/amends/internal/machine"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// Generation is one run of the synthetic producer on an applied namespace.
type Generation struct {
	Applied *postgres.Applied
	// Catalog is a pool whose search_path is the catalog's schema; it holds the writer lease (R22).
	Catalog *postgres.Pool
	Kafka   kafka.Config
	Holder  string
	Options generate.Options
	// Progress, where not nil, is told the records acknowledged so far after each batch.
	Progress func(published, total int64)
}

// Generated is what a run published.
type Generated struct {
	// Counts are acknowledged records by class.
	Counts generate.Counts
	// Story is where SC02 is told; Told says whether it is.
	Story generate.Story
	Told  bool
	// Stopped says that a verification asked the producer to stop before its end.
	Stopped bool
}

// Generate publishes the stream to its end, or until it is asked to stop or ctx ends; the lease is given up in each
// case. What was published until an error is in the result.
func Generate(ctx context.Context, g Generation) (Generated, error) {
	stream, err := generate.NewStream(g.Applied.Namespace, g.Options)
	if err != nil {
		return Generated{}, err
	}
	source := g.Applied.Namespace.Spec.Source
	publisher, err := kafka.NewPublisher(ctx, g.Kafka,
		kafka.Topic{Name: source.Topic, ID: g.Applied.SourceTopicID, Partitions: source.Partitions}, generate.DefaultDeliveryTimeout)
	if err != nil {
		return Generated{}, err
	}
	defer publisher.Close()
	shell, err := generate.NewShell(generate.ShellOptions{
		Stream: stream, Publisher: publisher, Lease: postgres.NewWriterLease(g.Catalog, g.Applied.SourceTopicID, g.Holder),
		Now: time.Now, Rate: g.Options.Rate,
	})
	if err != nil {
		return Generated{}, err
	}
	err = drive(ctx, shell, func() {
		if g.Progress != nil {
			g.Progress(shell.Published().Total(), stream.Total())
		}
	})
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	// A lease that cannot be given up now expires by itself; the first error says more.
	if closeErr := shell.Close(release); err == nil {
		err = closeErr
	}
	result := Generated{Counts: shell.Published(), Stopped: shell.State() == generate.Stopped}
	result.Story, result.Told = stream.Story()
	return result, err
}

// drive steps the shell to its end. A transient fault is tried again for a while. When ctx ends the
// batch under way is finished first: else its records would be in the topic uncounted, and the lease could not be given
// up while they may still be on their way.
func drive(ctx context.Context, shell *generate.Shell, stepped func()) error {
	finishing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(finishTimeout, cancel) })
	defer stop()
	var stall *fault.Stall
	for shell.State() == generate.Running {
		progress, wake, err := shell.Step(finishing)
		stepped()
		switch {
		case ctx.Err() != nil && shell.State() == generate.Running:
			return ctx.Err()
		case err == nil:
			stall = nil
		case fault.ClassOf(err) != fault.Transient:
			return err
		default:
			stall = fault.DefaultPolicy.Failed(stall, err.Error(), time.Now(), rand.Int64N)
			if waited := time.Since(stall.Since); waited >= generatePatience {
				return fmt.Errorf("gave up after %d attempts in %s: %w", stall.Attempts, waited.Round(time.Second), err)
			}
			wake = stall.NextTry
		}
		if !progress || err != nil {
			if err := sleepUntil(ctx, wake); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// generatePatience bounds how long one batch is tried, counted from the end of its first attempt: long enough for a
	// server to restart.
	generatePatience = 30 * time.Second
	// finishTimeout bounds the batch that is under way at an interruption.
	finishTimeout = 5 * time.Second
)

// sleepUntil waits until wake or the end of ctx, whose error it returns. The zero time is now.
func sleepUntil(ctx context.Context, wake time.Time) error {
	delay := time.Until(wake)
	if wake.IsZero() || delay <= 0 {
		return ctx.Err()
	}
	return machine.Clock{}.Sleep(ctx, delay)
}
