package owner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// TestR28RelabelledBytes: what is stored says what it proves, and bytes that say something else, or were changed in any
// place, are refused.
func TestR28RelabelledBytes(t *testing.T) {
	mark.Expect(t, "R28 bytes of another capability")
	// Versions and bytes are such that, but for the labels, each is almost what the other would be: position 1, a value that
	// begins like a length, a payload of one form inside one of the other.
	payload := owner.Payload{SchemaVersion: 1, CodecVersion: 8, Bytes: make([]byte, 8)}
	history, err := owner.NewCompleteHistory("counter-1", []owner.Positioned{{Position: 1, Payload: payload}})
	if err != nil {
		t.Fatal(err)
	}
	latest := owner.NewLatest("counter-1", history.Frontier(), payload)
	decoders := map[owner.Capability]func(b []byte) error{
		owner.CompleteHistoryCapability: func(b []byte) error { _, err := owner.DecodeCompleteHistory(b); return err },
		owner.LatestStateOnly:           func(b []byte) error { _, err := owner.DecodeLatest(b); return err },
	}
	resum := func(b []byte) []byte {
		body := b[:len(b)-sha256.Size]
		sum := sha256.Sum256(body)
		return append(bytes.Clone(body), sum[:]...)
	}
	length := func(c owner.Capability) byte { return byte(len(c)) }
	for _, c := range []struct {
		bytes []byte
		is    owner.Capability
		other owner.Capability
	}{
		{history.Bytes(), history.Capability(), latest.Capability()},
		{latest.Bytes(), latest.Capability(), history.Capability()},
	} {
		if err := decoders[c.is](c.bytes); err != nil {
			t.Fatalf("undamaged twin, %s: %v", c.is, err)
		}
		// The label replaced by the other one, first as it is, then with a sum that fits.
		relabelled := append(append(append([]byte{}, c.bytes[:7]...), length(c.other)), c.other...)
		relabelled = append(relabelled, c.bytes[8+len(c.is):]...)
		for name, damaged := range map[string][]byte{
			"as it is":              c.bytes,
			"relabelled":            relabelled,
			"relabelled with a sum": resum(relabelled),
		} {
			err := decoders[c.other](damaged)
			if !errors.Is(err, owner.ErrNotThis) || name == "as it is" && !strings.Contains(err.Error(), "claims \""+string(c.is)) {
				t.Errorf("%s as %s, %s: %v", c.is, c.other, name, err)
			}
		}
		for i := range c.bytes {
			damaged := bytes.Clone(c.bytes)
			damaged[i] ^= 1
			if err := decoders[c.is](damaged); !errors.Is(err, owner.ErrNotThis) {
				t.Errorf("%s with byte %d changed: %v", c.is, i, err)
			}
			if err := decoders[c.is](c.bytes[:i]); !errors.Is(err, owner.ErrNotThis) {
				t.Errorf("%s cut to %d bytes: %v", c.is, i, err)
			}
			if i < len(c.bytes)-sha256.Size {
				if err := decoders[c.is](resum(c.bytes[:i+sha256.Size])); !errors.Is(err, owner.ErrNotThis) {
					t.Errorf("%s cut to %d bytes with a sum that fits: %v", c.is, i, err)
				}
			}
		}
		if err := decoders[c.is](resum(append(bytes.Clone(c.bytes), 0))); !errors.Is(err, owner.ErrNotThis) {
			t.Errorf("%s with a byte more: %v", c.is, err)
		}
	}
	for _, zero := range []owner.LatestDurableProjection{{}, owner.NewLatest("a", owner.MarkAt(1), owner.Payload{SchemaVersion: 1})} {
		if err := decoders[owner.LatestStateOnly](zero.Bytes()); !errors.Is(err, owner.ErrNotThis) {
			t.Errorf("%+v: %v", zero, err)
		}
	}
}

// TestCompleteHistoryRefuses: a gap, a repetition, a start in the middle, a mode without history.
func TestCompleteHistoryRefuses(t *testing.T) {
	at := func(positions ...uint64) (events []owner.Positioned) {
		for _, p := range positions {
			events = append(events, owner.Positioned{Position: p, Payload: owner.Payload{SchemaVersion: 1, CodecVersion: 1}})
		}
		return events
	}
	image := func(mode owner.Mode, position uint64, positions ...uint64) *owner.Image {
		return &owner.Image{OwnerID: "a", Mode: mode, Position: position, History: at(positions...)}
	}
	h, err := image(owner.EventHistory, 3, 1, 2, 3).CompleteHistory()
	if err != nil || h.Frontier().String() != "3" || h.OwnerID() != "a" || h.Capability() != owner.CompleteHistoryCapability {
		t.Fatalf("undamaged twin: %+v, %v", h, err)
	}
	for name, damaged := range map[string]*owner.Image{
		"gap":             image(owner.EventHistory, 3, 1, 3, 4),
		"repeated":        image(owner.EventHistory, 3, 1, 2, 2),
		"out of order":    image(owner.EventHistory, 3, 2, 1, 3),
		"from the middle": image(owner.EventHistory, 3, 2, 3, 4),
		"from zero":       image(owner.EventHistory, 3, 0, 1, 2),
		"cut off":         image(owner.EventHistory, 3, 1, 2),
		"too long":        image(owner.EventHistory, 2, 1, 2, 3),
		"snapshot":        image(owner.Snapshot, 3, 1, 2, 3),
		"no mode":         image("", 3, 1, 2, 3),
	} {
		if _, err := damaged.CompleteHistory(); !errors.Is(err, owner.ErrIncomplete) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unversioned := image(owner.EventHistory, 1, 1)
	unversioned.History[0].Payload.CodecVersion = 0
	if _, err := unversioned.CompleteHistory(); !errors.Is(err, owner.ErrIncomplete) {
		t.Errorf("no codec version: %v", err)
	}
	if _, err := owner.NewCompleteHistory("", nil); !errors.Is(err, owner.ErrIncomplete) {
		t.Errorf("no owner: %v", err)
	}
}
