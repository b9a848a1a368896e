package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/oracle/boundary"
)

// releaseTimeout bounds giving the lease up at the end of a run; a lease that stays behind expires.
const releaseTimeout = 5 * time.Second

// holder is the name under which a run takes the writer lease, empty where it only looks at it.
func holder(deps Deps) string {
	if deps.Writers == nil {
		return ""
	}
	return deps.Holder
}

// keeper keeps the writer lease of a run alive while the run reads and compares.
type keeper struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// requestStop asks the lease holder to stop and waits one poll interval. Its error is that of ctx.
func (v *run) requestStop(ctx context.Context) error {
	_ = v.ask(ctx, "the writer lease", func(ctx context.Context) error {
		lease, err := v.deps.State.Lease(ctx, v.applied.SourceTopicID)
		if err == nil && lease.Held {
			v.tell(fmt.Sprintf("asking %s to stop", lease.Holder))
			err = v.deps.State.RequestStop(ctx, v.applied.SourceTopicID, lease.Term)
		}
		// Any other failure shows again at the next observation.
		v.stopDenied = errors.Is(err, ErrDenied)
		return err
	})
	return v.deps.Clock.Sleep(ctx, v.options.Poll)
}

// acquireLease takes the writer lease and begins to keep it. Whether it was taken shows at the next observation. Its
// error is that of ctx.
func (v *run) acquireLease(ctx context.Context) error {
	topic, name := v.applied.SourceTopicID, v.deps.Holder
	err := v.ask(ctx, "the writer lease", func(ctx context.Context) error {
		return v.deps.Writers.Acquire(ctx, topic, name, LeaseTTL)
	})
	if v.acquireDenied = errors.Is(err, ErrDenied); v.acquireDenied {
		return nil
	}
	if v.lease == nil { // after an error too: the lease may be in place all the same, and is then kept and released
		keeping, cancel := context.WithCancel(ctx)
		v.lease = &keeper{cancel: cancel, done: make(chan struct{})}
		go v.keepLease(keeping, topic, name)
	}
	if err != nil { // the next look, or the next try, shows
		return v.deps.Clock.Sleep(ctx, v.options.Poll)
	}
	return ctx.Err()
}

// keepLease renews the lease until ctx ends. What fails is tried again: a lease that was lost shows at the recheck.
func (v *run) keepLease(ctx context.Context, topic, name string) {
	defer close(v.lease.done)
	for v.deps.Clock.Sleep(ctx, LeaseTTL/3) == nil {
		bounded, cancel := context.WithTimeout(ctx, LeaseTTL/3)
		_ = v.deps.Writers.Renew(bounded, topic, name, LeaseTTL)
		cancel()
	}
}

// releaseLease gives the lease up at the end of a run, however it ended.
func (v *run) releaseLease(ctx context.Context) {
	if v.lease == nil {
		return
	}
	v.lease.cancel()
	<-v.lease.done
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	// A lease that cannot be given up expires; that is no finding of this run.
	_ = v.deps.Writers.Release(bounded, v.applied.SourceTopicID, v.deps.Holder)
}

// observeLease reads the writer lease, and, before the boundary, what intake has still to write.
func (v *run) observeLease(ctx context.Context, o *boundary.Observation) error {
	return v.ask(ctx, "the writer lease", func(ctx context.Context) error {
		lease, err := v.deps.State.Lease(ctx, v.applied.SourceTopicID)
		if o.Lease = &lease; err != nil || v.deps.Writers == nil {
			return err
		}
		o.Pending, err = v.deps.Writers.Pending(ctx, v.applied)
		return err
	})
}
