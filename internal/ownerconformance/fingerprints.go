package ownerconformance

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"amends.dev/amends/stages/owner"
)

// relation is how two fingerprints stand to each other.
func relation(equal bool) string {
	if equal {
		return "equal"
	}
	return "different"
}

// fingerprints computes both sides and compares their relations. Whatever a case expects, stored bytes of one capability
// must not be read as the other.
func (r *runner) fingerprints(c *fingerprintCase) {
	const place = "fingerprint_case"
	left, err := r.history(c.LeftHistory)
	if err != nil {
		r.fault(place, "left_history: "+err.Error())
		return
	}
	right, err := r.history(c.RightHistory)
	if err != nil {
		r.fault(place, "right_history: "+err.Error())
		return
	}
	leftLatest := owner.NewLatest(r.scenario.OwnerID, left.Frontier(), c.LeftLatest.payload())
	rightLatest := owner.NewLatest(r.scenario.OwnerID, right.Frontier(), c.RightLatest.payload())
	leftSeen, rightSeen := c.LeftProjection.payload(), c.RightProjection.payload()
	r.compare(place, "expect", c.Expect, &fingerprintRelations{
		Projection:        relation(owner.FingerprintProjection(leftSeen) == owner.FingerprintProjection(rightSeen)),
		History:           relation(left.Fingerprint(leftSeen) == right.Fingerprint(rightSeen)),
		Latest:            relation(leftLatest.Fingerprint() == rightLatest.Fingerprint()),
		HistoryCapability: string(left.Capability()),
		LatestCapability:  string(leftLatest.Capability()),
	})
	r.capabilities(place, left, leftLatest)
	r.capabilities(place, right, rightLatest)
}

// history is one side's complete history, written and read again.
func (r *runner) history(records []*record) (owner.CompleteHistory, error) {
	events := make([]owner.Positioned, 0, len(records))
	for _, e := range records {
		events = append(events, owner.Positioned{Position: e.Position, Payload: e.Payload.payload()})
	}
	h, err := owner.NewCompleteHistory(r.scenario.OwnerID, events)
	if err != nil {
		return owner.CompleteHistory{}, err
	}
	return owner.DecodeCompleteHistory(h.Bytes())
}

// capabilities checks that neither form is read as the other, with a changed label neither.
func (r *runner) capabilities(place string, h owner.CompleteHistory, latest owner.LatestDurableProjection) {
	if _, err := owner.DecodeLatest(latest.Bytes()); err != nil {
		r.fault(place, fmt.Sprintf("a latest value is not read back: %v", err))
	}
	if _, err := owner.DecodeCompleteHistory(latest.Bytes()); !errors.Is(err, owner.ErrNotThis) {
		r.fault(place, fmt.Sprintf("a latest value was read as complete history: %v", err))
	}
	if _, err := owner.DecodeLatest(h.Bytes()); !errors.Is(err, owner.ErrNotThis) {
		r.fault(place, fmt.Sprintf("a complete history was read as a latest value: %v", err))
	}
	if _, err := owner.DecodeCompleteHistory(relabelled(latest.Bytes(), owner.CompleteHistoryCapability)); !errors.Is(err, owner.ErrNotThis) {
		r.fault(place, fmt.Sprintf("a latest value was read as complete history under another label: %v", err))
	}
	if _, err := owner.DecodeLatest(relabelled(h.Bytes(), owner.LatestStateOnly)); !errors.Is(err, owner.ErrNotThis) {
		r.fault(place, fmt.Sprintf("a complete history was read as a latest value under another label: %v", err))
	}
}

// relabelled are stored bytes that claim another capability, with the sum that fits: a length and the label, what follows
// them, and a SHA-256 over all of it.
func relabelled(stored []byte, label owner.Capability) []byte {
	body := stored[:len(stored)-sha256.Size]
	rest := body[8+binary.BigEndian.Uint64(body):]
	text := append(binary.BigEndian.AppendUint64(nil, uint64(len(label))), label...)
	text = append(text, rest...)
	sum := sha256.Sum256(text)
	return append(text, sum[:]...)
}
