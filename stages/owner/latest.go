package owner

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"amends.dev/amends/internal/mark"
)

// Capability says what a source of state proves.
type Capability string

// The capabilities.
const (
	// CompleteHistoryCapability is that of a CompleteHistory: every accepted event, in order.
	CompleteHistoryCapability Capability = "complete_history"
	// LatestStateOnly is that of a LatestDurableProjection: intermediate values may be missing.
	LatestStateOnly Capability = "latest_state_only"
)

// LatestDurableProjection is an owner's value in the egress of latest states: there is one for each owner, a commit
// replaces it in place, and what was not published by then never is. It claims latest_state_only and no more, cannot be
// passed where complete history is asked for, and its bytes say so (R28). The zero value is no projection. Values do not
// change and may be shared.
type LatestDurableProjection struct {
	ownerID  string
	position uint64
	value    Payload
}

// newLatest is the value of an owner at a position.
func newLatest(ownerID string, position uint64, value *Payload) LatestDurableProjection {
	return LatestDurableProjection{ownerID: ownerID, position: position, value: value.clone()}
}

// NewLatest is the value of an owner as of a position, as commits make it; for who keeps such values elsewhere.
func NewLatest(ownerID string, at Mark, value Payload) LatestDurableProjection {
	return newLatest(ownerID, at.n, &value)
}

// OwnerID is the owner whose value it is.
func (l LatestDurableProjection) OwnerID() string { return l.ownerID }

// At is the owner's position after the commit that brought the value: of two values the later one is further.
func (l LatestDurableProjection) At() Mark { return Mark{l.position} }

// Value is the value, a copy.
func (l LatestDurableProjection) Value() Payload { return l.value.clone() }

// Capability is always LatestStateOnly.
func (LatestDurableProjection) Capability() Capability { return LatestStateOnly }

// noRecords stands where a complete history has the number of its records, so that no value, whatever its bytes, has the
// form of a history behind another label.
const noRecords = math.MaxUint64

// Bytes is the durable form, which DecodeLatest reads: capability, owner, position, value, and a SHA-256 over all of it.
// The position is the source's at the commit; it orders values of one owner and authorizes nothing.
func (l LatestDurableProjection) Bytes() []byte {
	e := newEncoding(string(LatestStateOnly)).text(l.ownerID).number(noRecords).number(l.position).payload(&l.value)
	return sealed(e)
}

// sealed appends the sum that makes a relabelled or damaged encoding known.
func sealed(e encoding) []byte {
	sum := e.sum()
	return append(e, sum[:]...)
}

// ErrNotThis is wrapped where stored bytes are no intact value of the capability that was asked for.
var ErrNotThis = errors.New("not what was asked for")

// DecodeLatest reads the durable form. Bytes of another capability, relabelled or damaged ones wrap ErrNotThis.
func DecodeLatest(stored []byte) (LatestDurableProjection, error) {
	d, err := unsealed(stored, LatestStateOnly)
	if err != nil {
		return LatestDurableProjection{}, err
	}
	l := LatestDurableProjection{ownerID: d.text()}
	records := d.number()
	l.position, l.value = d.number(), d.payload()
	if err := d.end(); err != nil {
		return LatestDurableProjection{}, err
	}
	if records != noRecords {
		return LatestDurableProjection{}, fmt.Errorf("%w: it has the form of %d records", ErrNotThis, records)
	}
	if problem := identity("owner ID", l.ownerID, OwnerIDMax) + versioned("the value", &l.value); problem != "" {
		return LatestDurableProjection{}, fmt.Errorf("%w: %s", ErrNotThis, problem)
	}
	return l, nil
}

// decoding reads an encoding from its start. After an attempt to read beyond the end, short is set and everything is zero.
type decoding struct {
	rest  []byte
	short bool
}

// unsealed checks sum and capability, and begins to read behind it.
func unsealed(stored []byte, want Capability) (*decoding, error) {
	if len(stored) < sha256.Size {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrNotThis, len(stored))
	}
	body, sum := stored[:len(stored)-sha256.Size], stored[len(stored)-sha256.Size:]
	if expected := sha256.Sum256(body); !bytes.Equal(sum, expected[:]) {
		return nil, fmt.Errorf("%w: the sum does not fit the content: relabelled or damaged", ErrNotThis)
	}
	d := &decoding{rest: body}
	if got := d.text(); got != string(want) {
		mark.Hit("R28 bytes of another capability")
		return nil, fmt.Errorf("%w: it claims %q, want %s", ErrNotThis, got, want)
	}
	return d, nil
}

func (d *decoding) number() uint64 {
	if len(d.rest) < 8 {
		d.short, d.rest = true, nil
		return 0
	}
	n := binary.BigEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return n
}

func (d *decoding) bytes() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.short, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return append([]byte{}, b...)
}

func (d *decoding) text() string { return string(d.bytes()) }

func (d *decoding) payload() Payload {
	return Payload{SchemaVersion: d.number(), CodecVersion: d.number(), Bytes: d.bytes()}
}

// end wants everything read and nothing left.
func (d *decoding) end() error {
	if d.short || len(d.rest) > 0 {
		return fmt.Errorf("%w: the content does not end where its lengths say", ErrNotThis)
	}
	return nil
}
