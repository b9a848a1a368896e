package owner

import (
	"crypto/sha256"
	"encoding/binary"
)

// encoding is an unambiguous encoding: every number takes eight bytes, big end first, and every text its length in that
// form and then its bytes, so that no two sequences of values run together. It begins with a domain, so that values of
// one kind never equal those of another.
type encoding []byte

// newEncoding begins an encoding of the given domain.
func newEncoding(domain string) encoding { return encoding(nil).text(domain) }

func (e encoding) number(n uint64) encoding { return binary.BigEndian.AppendUint64(e, n) }

func (e encoding) text(s string) encoding { return append(e.number(uint64(len(s))), s...) }

func (e encoding) bytes(b []byte) encoding { return append(e.number(uint64(len(b))), b...) }

// payload puts the versions before the bytes that they give a meaning to.
func (e encoding) payload(p *Payload) encoding {
	return e.number(p.SchemaVersion).number(p.CodecVersion).bytes(p.Bytes)
}

func (e encoding) sum() [sha256.Size]byte { return sha256.Sum256(e) }

// domainUnit is the domain of Commit.Digest.
const domainUnit = "amends.dev/owner/unit-of-work/1"

// Digest identifies the whole content that a unit of work has under its inbox identity: the input's fingerprint, the
// events or the snapshot, effects, receipts and the latest value, each payload with its versions (R27, B134). Owner,
// expected position, fence and Create are no part of it: a redelivery after a hand-off is the same input.
func (c *Commit) Digest() Digest {
	e := newEncoding(domainUnit).text(c.Inbox.ID).bytes(c.Inbox.Fingerprint)
	e = e.number(uint64(len(c.Append)))
	for i := range c.Append {
		e = e.payload(&c.Append[i])
	}
	e = e.optional(c.Replace)
	e = e.number(uint64(len(c.Effects)))
	for i := range c.Effects {
		e = e.text(c.Effects[i].ID).payload(&c.Effects[i].Payload)
	}
	e = e.number(uint64(len(c.Receipts)))
	for i := range c.Receipts {
		r := &c.Receipts[i]
		e = e.text(r.ID).text(r.EffectID).text(r.Outcome).payload(&r.Payload)
	}
	return e.optional(c.Latest).sum()
}

// optional tells an absent payload from an empty one.
func (e encoding) optional(p *Payload) encoding {
	if p == nil {
		return e.number(0)
	}
	return e.number(1).payload(p)
}
