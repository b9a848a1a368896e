package owner

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The limits of identities, in bytes of UTF-8. An owner's ID and one of its identities fit one B-tree key of Postgres
// together (2,704 bytes), and an identity has room for an owner's ID with something around it.
const (
	// OwnerIDMax bounds the ID of an owner.
	OwnerIDMax = 1024
	// IDMax bounds the ID of an inbox item, an effect or a receipt.
	IDMax = 1280
	// OutcomeMax bounds the terminal outcome that a receipt names.
	OutcomeMax = 128
	// PositionMax is the last position: what a signed column of 64 bits holds. A commit that would pass it is
	// PositionExhausted.
	PositionMax = math.MaxInt64
)

// identity says what is wrong with a text as a stable identity, "" where nothing is.
func identity(what, text string, limit int) string {
	switch {
	case text == "":
		return what + " is empty"
	case len(text) > limit:
		return fmt.Sprintf("%s has %d bytes, more than %d", what, len(text), limit)
	case !utf8.ValidString(text):
		return what + " is not UTF-8"
	case strings.IndexByte(text, 0) >= 0:
		return what + " contains U+0000"
	}
	return ""
}

// receiptIdentities says what is wrong with the names of a receipt.
func receiptIdentities(r *Receipt) string {
	for _, problem := range []string{
		identity("receipt ID", r.ID, IDMax),
		identity("effect ID of a receipt", r.EffectID, IDMax),
		identity("outcome of a receipt", r.Outcome, OutcomeMax),
	} {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// identities says what is wrong with the names in a unit of work.
func (c *Commit) identities() string {
	if problem := identity("owner ID", c.OwnerID, OwnerIDMax); problem != "" {
		return problem
	}
	if problem := identity("inbox ID", c.Inbox.ID, IDMax); problem != "" {
		return problem
	}
	for i := range c.Effects {
		if problem := identity("effect ID", c.Effects[i].ID, IDMax); problem != "" {
			return problem
		}
	}
	for i := range c.Receipts {
		if problem := receiptIdentities(&c.Receipts[i]); problem != "" {
			return problem
		}
	}
	return ""
}

// payloads calls visit for every payload of the unit of work until it says that something is wrong.
func (c *Commit) payloads(visit func(what string, p *Payload) string) string {
	for i := range c.Append {
		if problem := visit("an event", &c.Append[i]); problem != "" {
			return problem
		}
	}
	if c.Replace != nil {
		if problem := visit("the snapshot", c.Replace); problem != "" {
			return problem
		}
	}
	for i := range c.Effects {
		if problem := visit("an effect", &c.Effects[i].Payload); problem != "" {
			return problem
		}
	}
	for i := range c.Receipts {
		if problem := visit("a receipt", &c.Receipts[i].Payload); problem != "" {
			return problem
		}
	}
	if c.Latest != nil {
		return visit("the latest value", c.Latest)
	}
	return ""
}

// versioned says what is wrong with the versions of a payload by themselves.
func versioned(what string, p *Payload) string {
	if p.SchemaVersion == 0 || p.CodecVersion == 0 {
		return fmt.Sprintf("%s has schema_version %d and codec_version %d; both must be positive", what, p.SchemaVersion, p.CodecVersion)
	}
	return ""
}

// check says what is wrong with the versions of a payload for an owner; a nil Supported accepts every positive one.
func (s *Supported) check(what string, p *Payload) string {
	if problem := versioned(what, p); problem != "" || s == nil {
		return problem
	}
	return unsupported(what, "schema", p.SchemaVersion, s.SchemaVersions) + unsupported(what, "codec", p.CodecVersion, s.CodecVersions)
}

// unsupported says that a version is not in the list.
func unsupported(what, kind string, version uint64, list []uint64) string {
	for _, known := range list {
		if known == version {
			return ""
		}
	}
	return fmt.Sprintf("%s has %s_version %d, which the owner does not support; ", what, kind, version)
}
