package sim

import "fmt"

// leaseChecker: no relay begins to send unless it holds the lease, and for longer than a delivery takes (R17).
type leaseChecker struct{ seen int }

func (*leaseChecker) name() string { return "lease" }

func (c *leaseChecker) check(w *world) error {
	for ; c.seen < len(w.sends); c.seen++ {
		if s := w.sends[c.seen]; s.leased != s.holder || s.left <= deliveryTimeout.Seconds() {
			return fmt.Errorf("%s sent while %s held the lease for %.3f s", s.holder, s.leased, s.left)
		}
	}
	return nil
}
