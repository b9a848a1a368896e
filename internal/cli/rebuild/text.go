package rebuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/rebuilding"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/stages/operation"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/vectorized/derived"
)

func writeJSON(w io.Writer, r *Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func writeText(w io.Writer, r *Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "rebuilt %s into %s, mode %s", r.From, r.Namespace, r.Mode)
	if r.Resumed {
		b.WriteString(", an interrupted rebuild finished")
	}
	if r.Experiment {
		fmt.Fprintf(&b, ": an experiment under another configuration than that of %s", r.ExperimentOf)
	}
	fmt.Fprintf(&b, "\n  history  %v from 0, topic ID %s\n  output   %s\n  built by %s\n", r.Through, r.SourceTopicID, r.OutputTopic, r.BuiltBy)
	if r.Mode == modeBulk {
		fmt.Fprintf(&b, "  records  %d accepted, %d rejected; %d rows\n", r.Accepted, r.Rejected, r.Rows)
	}
	for _, phase := range []string{phaseDerive, phaseLoad, phaseStream, phaseWhole} {
		if took, ok := r.Timings[phase]; ok {
			fmt.Fprintf(&b, "  %-8s %s\n", phase, time.Duration(took).Round(time.Millisecond))
		}
	}
	fmt.Fprintf(&b, "next: amendsctl run -n %s, then amendsctl verify --quiesce -n %s, or amendsctl compare %s %s\n", r.Namespace, r.Namespace, r.From, r.Namespace)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// errRefused is wrapped by errors that mean: this cannot be rebuilt like that, and nothing was touched.
var errRefused = errors.New("refused")

// coded gives an error its exit code.
func coded(ctx context.Context, o options, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("stopped; the same rebuild goes on where it was: %w", context.Cause(ctx))
	case errors.Is(err, errRefused), errors.Is(err, apply.ErrRefused), errors.Is(err, rebuilding.ErrHistory), errors.Is(err, rebuild.ErrNotEmpty), errors.Is(err, derived.ErrExists):
		return exit.With(exit.Refused, err)
	case errors.Is(err, operation.ErrConflict):
		return exit.With(exit.Refused, fmt.Errorf("another rebuild into %s was begun and not finished, with other options; run it again, or delete that namespace: %w", o.into, err))
	case errors.Is(err, boundary.ErrTopicChanged), errors.Is(err, boundary.ErrHistoryLost):
		return exit.With(exit.Refused, err)
	case errors.Is(err, derive.ErrOutOfDomain):
		return fmt.Errorf("%w; the worker would stop there: nothing can be rebuilt from this history", err)
	case errors.Is(err, rebuilding.ErrStopped), errors.Is(err, rebuilding.ErrStalled), errors.Is(err, rebuild.ErrDataset):
		return err
	}
	return connect.Refuse(err)
}
