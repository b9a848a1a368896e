package synthetic

import "time"

const (
	nanosPerMs  = 1_000_000
	nanosPerSec = 1_000_000_000
	secPerDay   = 86_400
	msPerDay    = 86_400_000
)

// pairs are the numbers from 00 to 99.
var pairs = func() (p [100][2]byte) {
	for i := range p {
		p[i] = [2]byte{byte('0' + i/10), byte('0' + i%10)}
	}
	return p
}()

// appendDigits appends a number below 10^8 in eight digits.
func appendDigits(to []byte, n uint64) []byte {
	a, b, c, d := &pairs[n/1_000_000], &pairs[n/10_000%100], &pairs[n/100%100], &pairs[n%100]
	return append(to, a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1])
}

// appendTxnID appends TX- and ten digits of a number below 10^12, or twelve where it needs more.
func appendTxnID(to []byte, number int64) []byte {
	n := uint64(number)
	to = append(to, 'T', 'X', '-')
	if high := n / 100_000_000; high >= 100 {
		to = append(to, pairs[high/100%100][0], pairs[high/100%100][1])
	}
	p := &pairs[n/100_000_000%100]
	return appendDigits(append(to, p[0], p[1]), n%100_000_000)
}

// calendar renders instants as RFC 3339 in UTC, as time.RFC3339Nano does. Days come in no order: it keeps the date of each
// that was asked for.
type calendar [][]byte

// append appends an instant at or after the Unix epoch, in nanoseconds since then.
func (c *calendar) append(to []byte, nanos int64) []byte {
	seconds := nanos / nanosPerSec
	day := int(seconds / secPerDay)
	if day >= len(*c) {
		*c = append(*c, make([][]byte, day+1-len(*c))...)
	}
	date := (*c)[day]
	if date == nil {
		date = time.Unix(seconds, 0).UTC().AppendFormat(nil, "2006-01-02T")
		(*c)[day] = date
	}
	s := seconds % secPerDay
	h, m, n := &pairs[s/3600], &pairs[s/60%60], &pairs[s%60]
	to = append(to, date...)
	to = append(to, h[0], h[1], ':', m[0], m[1], ':', n[0], n[1])
	if fraction := uint64(nanos % nanosPerSec); fraction > 0 {
		to = appendDigits(append(to, '.', byte('0'+fraction/100_000_000)), fraction%100_000_000)
		for to[len(to)-1] == '0' {
			to = to[:len(to)-1]
		}
	}
	return append(to, 'Z')
}
