package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"amends.dev/amends/internal/mark"
)

// NamespaceDigest is the SHA-256, in lower-case hexadecimal, of the whole resolved spec as RFC 8785 JSON in which
// every integer is a decimal string and the ledger origin is nanoseconds since the Unix epoch (R01, R02). The name is
// not part of it, nor is anything that a manifest can say in two ways. It is computed at each call: a million keys
// take about half a second.
func (n *Namespace) NamespaceDigest() string {
	return digest(appendSpec(nil, n.Spec), n.Spec.StockKeys)
}

// BusinessDigest is the digest of what business results depend on: semantics version, ledger origin, stock keys and,
// of the source, the given topic ID, partitions, partitioner and maxRecordBytes (R02). Namespaces with equal business
// digests must agree in their results.
func (n *Namespace) BusinessDigest(sourceTopicID string) string {
	mark.Hit("R02 business digest")
	s := n.Spec
	dst := appendInteger([]byte(`{"ledgerOrigin":`), s.LedgerOrigin)
	dst = appendInteger(append(dst, `,"maxRecordBytes":`...), s.Source.MaxRecordBytes)
	dst = appendString(append(dst, `,"partitioner":`...), s.Source.Partitioner)
	dst = appendInteger(append(dst, `,"partitions":`...), int64(s.Source.Partitions))
	dst = appendInteger(append(dst, `,"semanticsVersion":`...), s.SemanticsVersion)
	dst = appendString(append(dst, `,"sourceTopicId":`...), sourceTopicID)
	return digest(dst, s.StockKeys)
}

// digest completes an open JSON object with the stock keys, its last member, and hashes it.
func digest(open []byte, keys []StockKey) string {
	h := sha256.New()
	buf := append(open, `,"stockKeys":[`...)
	for i, k := range keys {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendStockKey(buf, k)
		buf = flush(h, buf, 1<<16)
	}
	flush(h, append(buf, "]}"...), 0)
	return hex.EncodeToString(h.Sum(nil))
}

// flush hashes and empties buf once it holds at least size bytes.
func flush(h hash.Hash, buf []byte, size int) []byte {
	if len(buf) < size {
		return buf
	}
	_, _ = h.Write(buf) // a hash never fails to write
	return buf[:0]
}
