package manifests

import "strconv"

// appendString appends s as a string of RFC 8785 JSON: only the quotation mark, the backslash and characters below
// U+0020 are escaped. s must be valid UTF-8.
func appendString(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		b := s[i]
		if b >= 0x20 && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\b':
			dst = append(dst, `\b`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// appendInteger appends v as a string of decimal digits: RFC 8785 writes JSON numbers as doubles, under which
// 9007199254740993 and 9007199254740992 are one (R01).
func appendInteger(dst []byte, v int64) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, v, 10)
	return append(dst, '"')
}

// appendStockKey appends one stock key with its members in order.
func appendStockKey(dst []byte, k StockKey) []byte {
	dst = appendString(append(dst, `{"item":`...), k.Item)
	dst = appendString(append(dst, `,"location":`...), k.Location)
	dst = appendInteger(append(dst, `,"openingBalance":`...), k.OpeningBalance)
	dst = appendInteger(append(dst, `,"reorderThreshold":`...), k.ReorderThreshold)
	return append(dst, '}')
}

// appendSpec appends the members of the spec without its stock keys and without the closing brace.
func appendSpec(dst []byte, s Spec) []byte {
	dst = appendInteger(append(dst, `{"ledgerOrigin":`...), s.LedgerOrigin)
	dst = appendInteger(append(dst, `,"output":{"partitions":`...), int64(s.Output.Partitions))
	dst = appendString(append(dst, `,"topic":`...), s.Output.Topic)
	dst = appendInteger(append(dst, `},"semanticsVersion":`...), s.SemanticsVersion)
	dst = appendInteger(append(dst, `,"source":{"maxRecordBytes":`...), s.Source.MaxRecordBytes)
	dst = appendString(append(dst, `,"partitioner":`...), s.Source.Partitioner)
	dst = appendInteger(append(dst, `,"partitions":`...), int64(s.Source.Partitions))
	dst = appendString(append(dst, `,"topic":`...), s.Source.Topic)
	return append(dst, '}')
}

// keyText renders a stock key for people, as its broker key: ["widget","berlin"].
func keyText(k StockKey) string {
	dst := appendString([]byte{'['}, k.Item)
	dst = appendString(append(dst, ','), k.Location)
	return string(append(dst, ']'))
}

// firstSeen says where a repeated key was listed first.
func firstSeen(k locatedKey) string { return "first on line " + strconv.Itoa(int(k.line)) }
