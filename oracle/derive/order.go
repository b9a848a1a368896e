package derive

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// place is a row with the beginning of its transaction ID, behind what all rows sorted with it have in common: most pairs
// differ there, and are told apart without a look at the text.
type place struct {
	head uint64
	row  uint32
}

// sorter sorts the rows of one key after the other. Its memory is used again.
type sorter struct {
	places []place
	order  []uint32
}

// sort returns the rows of a key sorted by transaction ID bytes, revision and offset. The result is valid until the next call.
func (s *sorter) sort(k *keyRows) []uint32 {
	common := k.common()
	s.places, s.order = s.places[:0], s.order[:0]
	for i := range k.rows {
		s.places = append(s.places, place{head(k.txnID(uint32(i))[common:]), uint32(i)})
	}
	slices.SortFunc(s.places, func(a, b place) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(strings.Compare(k.txnID(a.row), k.txnID(b.row)), cmp.Compare(k.rows[a.row].revision, k.rows[b.row].revision), cmp.Compare(a.row, b.row))
	})
	for _, p := range s.places {
		s.order = append(s.order, p.row)
	}
	return s.order
}

// common is the length of what all transaction IDs of a key have in common.
func (k *keyRows) common() int {
	first := k.txnID(0)
	for i := range k.rows {
		id, n := k.txnID(uint32(i)), 0
		for n < min(len(first), len(id)) && first[n] == id[n] {
			n++
		}
		first = first[:n]
	}
	return len(first)
}

// head is the first eight bytes of a text as a number that compares like them; a shorter text is filled up with zeros, which
// no transaction ID contains.
func head(text string) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}
