package report

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestR24Fingerprint: length and bytes of key and value, where null is neither empty nor part of the other.
func TestR24Fingerprint(t *testing.T) {
	const null, none, one, two = "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x00\x00\x00\x00\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x02"
	seen := map[string]string{}
	for _, c := range []struct {
		key, value []byte
		hashed     string
	}{
		{nil, nil, null + null},
		{nil, []byte{}, null + none},
		{[]byte{}, nil, none + null},
		{[]byte{}, []byte{}, none + none},
		{[]byte("a"), []byte("b"), one + "a" + one + "b"},
		{[]byte("ab"), []byte{}, two + "ab" + none},
		{[]byte{}, []byte("ab"), none + two + "ab"},
	} {
		sum := sha256.Sum256([]byte(c.hashed))
		got := Fingerprint(c.key, c.value)
		if got != hex.EncodeToString(sum[:]) {
			t.Errorf("%q, %q: %s, want the digest of %q", c.key, c.value, got, c.hashed)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have one fingerprint", other, c.hashed)
		}
		seen[got] = c.hashed
	}
}
