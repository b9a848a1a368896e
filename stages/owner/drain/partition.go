package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/relay"
)

// partition is one source partition of the relay.
type partition struct {
	// sent is the sequence of the first effect in window, exclusive of what was sent.
	sent int64
	// window are pending effects as they were read, in order.
	window []owner.Pending
	// more says that the last reading ended at its bound: there is more behind it.
	more bool
	// owed are acknowledged effects whose receipts are not surely recorded.
	owed []acknowledged
	// handed counts how often a pending effect was handed out for publication.
	handed map[string]int
	// stopped is the reason of a stop, empty where there is none; detail is one line about it.
	stopped, detail string
}

// acknowledged is an effect whose record is in the log.
type acknowledged struct {
	effect owner.Pending
	at     relay.Receipt
}

// advance passes over n effects whose receipts are recorded.
func (p *partition) advance(n int) {
	p.window = p.window[n:]
	p.sent += int64(n)
}

// restart forgets what was read: it is read again, under new sequences.
func (p *partition) restart() {
	p.sent += int64(len(p.window))
	p.window = nil
}

// read reads what is pending of the source partitions of which nothing is held: in one reading where that is all of them,
// as it is while there is nothing to do.
func (o *Outbox) read(ctx context.Context) error {
	all := true
	for _, p := range o.partitions {
		all = all && len(p.window) == 0
	}
	if all {
		complete, err := o.readAll(ctx)
		if err != nil || complete {
			return err
		}
	}
	for i, p := range o.partitions {
		if len(p.window) > 0 {
			continue
		}
		pending, err := o.options.Store.Pending(ctx, o.options.Prefixes[i], o.options.Window)
		if err != nil {
			return fmt.Errorf("source partition %d: %w", i, err)
		}
		p.window, p.more = pending, len(pending) >= o.options.Window
	}
	return nil
}

// Behind reports whether more is pending than was read at once, of some source partition: publication falls behind.
func (o *Outbox) Behind() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.partitions, func(p *partition) bool { return p.more && p.stopped == "" })
}

// readAll reads what is pending of all source partitions. It reports whether that was all there was.
func (o *Outbox) readAll(ctx context.Context) (complete bool, err error) {
	pending, err := o.options.Store.Pending(ctx, commonPrefix(o.options.Prefixes), o.options.Window)
	if err != nil {
		return false, err
	}
	complete = len(pending) < o.options.Window
	for _, p := range o.partitions {
		p.more = !complete
	}
	for _, effect := range pending {
		ours := false
		for i, prefix := range o.options.Prefixes {
			if strings.HasPrefix(effect.ID, prefix) {
				o.partitions[i].window = append(o.partitions[i].window, effect)
				ours = true
				break
			}
		}
		complete = complete && ours // others may hide what is ours
	}
	return complete, nil
}

// commonPrefix is what all texts begin with.
func commonPrefix(texts []string) string {
	common := texts[0]
	for _, text := range texts[1:] {
		for !strings.HasPrefix(text, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}
