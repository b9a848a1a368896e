package decode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// cursor consumes a record in the usual layout from the left. Each method reports whether it found what it is for; what it
// does not find, the scanner may.
type cursor struct {
	src []byte
	at  int
}

// literal consumes a text.
func (c *cursor) literal(text string) bool {
	end := c.at + len(text)
	if end > len(c.src) || string(c.src[c.at:end]) != text {
		return false
	}
	c.at = end
	return true
}

// stockKey consumes the values of a stock key, from the quote before the item to the one behind the location, as its broker
// key spells them: they are there between brackets, the item's ends at itemEnd.
func (c *cursor) stockKey(brokerKey []byte, itemEnd int32) bool {
	item, location := brokerKey[1:itemEnd], brokerKey[itemEnd+1:len(brokerKey)-1]
	return c.same(item) && c.literal(`,"location":`) && c.same(location)
}

// same consumes a text.
func (c *cursor) same(text []byte) bool {
	end := c.at + len(text)
	if end > len(c.src) || !bytes.Equal(c.src[c.at:end], text) {
		return false
	}
	c.at = end
	return true
}

// Eight bytes at a time: every byte is 1, and every byte is its highest bit.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// txnID consumes ASCII without escapes up to the closing quote, which it leaves. It looks at eight bytes at a time: more than
// those always follow. The lowest top bit of stops is that of the first stop, as only a stop borrows from the byte above it.
func (c *cursor) txnID(to *[]byte) bool {
	src := c.src[c.at:]
	for n := 0; len(src)-n >= 8 && n <= maxTxnIDBytes; n += 8 {
		eight := binary.LittleEndian.Uint64(src[n:])
		stops := (eight | (eight - ones*' ') | (eight ^ ones*'"' - ones) | (eight ^ ones*'\\' - ones)) & tops
		if stops == 0 {
			continue
		}
		n += bits.TrailingZeros64(stops) / 8
		*to = src[:n]
		c.at += n
		return n > 0 && n <= maxTxnIDBytes && src[n] == '"'
	}
	return false
}

// kind consumes the name of a kind.
func (c *cursor) kind(to *Kind) bool {
	switch {
	case c.literal("NEW"):
		*to = KindNew
	case c.literal("AMEND"):
		*to = KindAmend
	case c.literal("CANCEL"):
		*to = KindCancel
	default:
		return false
	}
	return true
}

// maxDigits is the length of integers that cannot overflow.
const maxDigits = 18

// integer consumes an integer of at most maxDigits digits.
func (c *cursor) integer(to *int64) bool {
	negative := c.literal("-")
	digits := c.src[c.at:]
	var v int64
	n := 0
	for ; n < len(digits) && digits[n]-'0' <= 9; n++ {
		if n == maxDigits {
			return false
		}
		v = v*10 + int64(digits[n]-'0')
	}
	if n == 0 || n > 1 && digits[0] == '0' {
		return false
	}
	if negative {
		v = -v
	}
	*to = v
	c.at += n
	return true
}
