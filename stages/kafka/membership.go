package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/stages/broker"
)

// GroupOptions are the timings of a group member. Zero values mean the defaults named there.
type GroupOptions struct {
	// SessionTimeout is after which silence the group takes a member for dead; default 10 s.
	SessionTimeout time.Duration
	// HeartbeatInterval is how often a member shows that it lives; default a quarter of the session timeout.
	HeartbeatInterval time.Duration
}

// Membership implements broker.Membership: a member of a classic consumer group that fetches nothing. The group says
// who owns what; readers of their own read from the database's frontier (S8).
type Membership struct {
	client *kgo.Client
	topic  string
	roster *roster
	fault  atomic.Pointer[error]
}

// Join starts to join a group for one topic. It returns at once; assignments show in Current. Partitions move
// cooperatively: a member keeps what it has until the group takes it away.
func Join(config Config, group, topic string, options GroupOptions) (*Membership, error) {
	if options.SessionTimeout == 0 {
		options.SessionTimeout = 10 * time.Second
	}
	if options.HeartbeatInterval == 0 {
		options.HeartbeatInterval = options.SessionTimeout / 4
	}
	m := &Membership{topic: topic, roster: newRoster()}
	client, err := config.client(
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(options.SessionTimeout),
		kgo.HeartbeatInterval(options.HeartbeatInterval),
		kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.OnPartitionsAssigned(m.assigned),
		kgo.OnPartitionsRevoked(m.removed),
		kgo.OnPartitionsLost(m.removed),
		// The callbacks may run before NewClient has returned, so they use the client that they are given; fetching is
		// prevented by an empty set of offsets, which also holds from the first moment on.
		kgo.AdjustFetchOffsetsFn(fetchNothing),
		kgo.WithHooks(m),
	)
	if err != nil {
		return nil, fmt.Errorf("join group %s: %w", group, err)
	}
	m.client = client
	return m, nil
}

// Current implements broker.Membership.
func (m *Membership) Current() (broker.Assignment, <-chan struct{}) { return m.roster.get() }

// Fault implements broker.Membership: why this member last lost its place in the group, nil after it got one again; wrong
// credentials, say, or an unreachable coordinator.
func (m *Membership) Fault() error {
	if fault := m.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// CommitLag implements broker.Membership. A commit that a rebalance makes void is no error: the signal follows with
// the next one.
func (m *Membership) CommitLag(ctx context.Context, frontiers map[int32]int64) error {
	offsets := make(map[int32]kgo.EpochOffset, len(frontiers))
	for partition, frontier := range frontiers {
		offsets[partition] = kgo.EpochOffset{Epoch: -1, Offset: frontier}
	}
	var failure error
	commit := map[string]map[int32]kgo.EpochOffset{m.topic: offsets}
	m.client.CommitOffsetsSync(ctx, commit, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		failure = commitError(response, err)
	})
	if failure != nil && !isRebalance(failure) {
		return fmt.Errorf("commit lag of %s: %w", m.topic, failure)
	}
	return nil
}

// Close implements broker.Membership. From its first moment on Current shows an empty assignment.
func (m *Membership) Close() {
	m.roster.close()
	// Closing a client leaves its group, so that others need not wait for the session to time out.
	m.client.Close()
}

// OnGroupManageError implements kgo.HookGroupManageError.
func (m *Membership) OnGroupManageError(err error) { m.fault.Store(&err) }

func (m *Membership) assigned(_ context.Context, client *kgo.Client, added map[string][]int32) {
	m.fault.Store(nil)
	member, generation := client.GroupMetadata()
	m.roster.add(member, generation, added[m.topic])
}

func (m *Membership) removed(_ context.Context, _ *kgo.Client, removed map[string][]int32) {
	m.roster.remove(removed[m.topic])
}

// fetchNothing makes the client consume no partition although it owns some.
func fetchNothing(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	return map[string]map[int32]kgo.Offset{}, nil
}

func commitError(response *kmsg.OffsetCommitResponse, err error) error {
	if err != nil || response == nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return fmt.Errorf("partition %d: %w", partition.Partition, err)
			}
		}
	}
	return nil
}

func isRebalance(err error) bool {
	return errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.RebalanceInProgress) ||
		errors.Is(err, kerr.UnknownMemberID)
}
