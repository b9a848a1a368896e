package drain

import (
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/relay"
)

// partition is one source partition of the relay.
type partition struct {
	// sent is the sequence of the first effect in window, exclusive of what was sent.
	sent int64
	// window are pending effects as they were read, in order.
	window []owner.Pending
	// owed are acknowledged effects whose receipts are not surely recorded.
	owed []acknowledged
	// handed counts how often a pending effect was handed out for publication.
	handed map[string]int
	// stopped is the reason of a stop, empty where there is none.
	stopped string
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
