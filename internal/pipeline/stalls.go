package pipeline

import (
	"context"
	"log/slog"
	"time"

	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/run"
)

// farewell bounds the last word of a process that ends.
const farewell = 2 * time.Second

// stalls records why partitions of this process stand still, so that a status asked for elsewhere can say it (R36). While the
// database is away nothing can be recorded, and nobody can ask.
type stalls struct {
	pool    *postgres.Pool
	process string
	// recorded says that there may be rows of this process.
	recorded bool
	// began says since when there are the stalls of which their stages do not say it: a stop is a state of theirs.
	began map[postgres.ResumeTarget]beginning
	log   *slog.Logger
}

// beginning is when a stall was first seen.
type beginning struct {
	reason string
	at     time.Time
}

// record makes the recorded stalls those of a status.
func (s *stalls) record(ctx context.Context, status []run.Status) {
	now := standing(status)
	s.date(now, time.Now())
	if len(now) == 0 && !s.recorded {
		return
	}
	s.recorded = true // also where the answer is lost
	if err := postgres.ReportStalls(ctx, s.pool, s.process, now); err != nil {
		s.log.Debug("stalls not recorded", "error", err)
		return
	}
	s.recorded = len(now) > 0
}

// date gives the stalls that have none the time at which they were first seen; another reason is another stall.
func (s *stalls) date(now []postgres.Stall, at time.Time) {
	began := map[postgres.ResumeTarget]beginning{}
	for i := range now {
		if !now[i].Since.IsZero() {
			continue
		}
		target := postgres.ResumeTarget{Stage: now[i].Stage, Partition: now[i].Partition}
		first := s.began[target]
		if first.reason != now[i].Reason || first.at.IsZero() {
			first = beginning{reason: now[i].Reason, at: at}
		}
		began[target], now[i].Since = first, first.at
	}
	s.began = began
}

// end removes what is recorded: a process that is gone stands nowhere.
func (s *stalls) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	s.record(ctx, nil)
}

// standing are the stalls of a status, one for each partition of a stage.
func standing(status []run.Status) []postgres.Stall {
	var all []postgres.Stall
	seen := map[postgres.ResumeTarget]bool{}
	for _, st := range status {
		at := postgres.ResumeTarget{Stage: st.Stage, Partition: st.Partition}
		if st.Stall == nil || seen[at] {
			continue
		}
		seen[at] = true
		all = append(all, postgres.Stall{
			Stage: st.Stage, Partition: st.Partition, Reason: st.Stall.Reason, Since: st.Stall.Since, Attempts: st.Stall.Attempts,
			NextTry: st.Stall.NextTry, Frontier: st.Frontier,
		})
	}
	return all
}
