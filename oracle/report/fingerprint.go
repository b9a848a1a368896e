package report

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Fingerprint identifies a rejected record by its raw bytes (R24): the SHA-256, in hex, over key and value, each
// preceded by its length as eight big-endian bytes, all of them 0xff for null, which is distinct from empty.
func Fingerprint(key, value []byte) string {
	h := sha256.New()
	for _, b := range [][]byte{key, value} {
		length := ^uint64(0)
		if b != nil {
			length = uint64(len(b))
		}
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, length)) // a hash never fails to write
		_, _ = h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}
