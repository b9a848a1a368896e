package decode

// The bounds of int64 nanoseconds around the Unix epoch, as seconds (rounded down) and nanoseconds of the second.
const (
	nanosPerSecond = 1_000_000_000
	lastSecond     = 9_223_372_036
	lastNanos      = 854_775_807
	firstSecond    = -9_223_372_037
	firstNanos     = 145_224_192
)

// Instant parses the RFC 3339 subset of design section 3 into nanoseconds since the Unix epoch: ASCII digits in
// two-digit fields, upper-case T and Z, at most 9 fraction digits after a point, seconds 00-59 (no leap second, B077),
// an offset within 23:59 (B078), and an instant that int64 nanoseconds can hold (B080).
func Instant(text []byte) (int64, bool) {
	p := timeParser{rest: text, ok: true}
	year := p.digits(4)
	p.byte('-')
	month := p.field('-', 1, 12)
	day := p.field('T', 1, 31)
	hour := p.field(':', 0, 23)
	minute := p.field(':', 0, 59)
	second := p.digits(2)
	nanos := p.fraction()
	offset := p.offset()
	if !p.ok || len(p.rest) != 0 || second > 59 || day > daysIn(year, month) {
		return 0, false
	}
	seconds := daysSinceEpoch(year, month, day)*86_400 + hour*3600 + minute*60 + second - offset
	return nanosSinceEpoch(seconds, nanos)
}

// nanosSinceEpoch joins seconds and nanoseconds, which are never negative, where int64 holds the sum.
func nanosSinceEpoch(seconds, nanos int64) (int64, bool) {
	if seconds > lastSecond || seconds == lastSecond && nanos > lastNanos {
		return 0, false
	}
	if seconds < firstSecond || seconds == firstSecond && nanos < firstNanos {
		return 0, false
	}
	if seconds < 0 { // one second nearer to zero, so that the product cannot wrap at the lower bound
		return (seconds+1)*nanosPerSecond + (nanos - nanosPerSecond), true
	}
	return seconds*nanosPerSecond + nanos, true
}

// timeParser consumes a text from the left; ok turns false at the first fault.
type timeParser struct {
	rest []byte
	ok   bool
}

// byte consumes c.
func (p *timeParser) byte(c byte) {
	if len(p.rest) == 0 || p.rest[0] != c {
		p.ok = false
		return
	}
	p.rest = p.rest[1:]
}

// digits consumes exactly n digits.
func (p *timeParser) digits(n int) int64 {
	if len(p.rest) < n {
		p.ok = false
		return 0
	}
	var v int64
	for _, c := range p.rest[:n] {
		if c < '0' || c > '9' {
			p.ok = false
			return 0
		}
		v = v*10 + int64(c-'0')
	}
	p.rest = p.rest[n:]
	return v
}

// field consumes a two-digit number in [low, high] and the byte behind it.
func (p *timeParser) field(behind byte, low, high int64) int64 {
	v := p.digits(2)
	p.byte(behind)
	p.ok = p.ok && v >= low && v <= high
	return v
}

// fraction consumes an optional fraction of a second and returns nanoseconds.
func (p *timeParser) fraction() int64 {
	if len(p.rest) == 0 || p.rest[0] != '.' {
		return 0
	}
	p.rest = p.rest[1:]
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 9 { // more digits would have to be cut: refused, never rounded (B083)
		p.ok = false
		return 0
	}
	v := p.digits(n)
	for ; n < 9; n++ {
		v *= 10
	}
	return v
}

// offset consumes Z or a signed hh:mm and returns seconds east of UTC.
func (p *timeParser) offset() int64 {
	if len(p.rest) == 0 {
		p.ok = false
		return 0
	}
	sign := int64(1)
	switch p.rest[0] {
	case 'Z':
		p.rest = p.rest[1:]
		return 0
	case '-':
		sign = -1
	case '+':
	default:
		p.ok = false
		return 0
	}
	p.rest = p.rest[1:]
	hours := p.field(':', 0, 23)
	minutes := p.digits(2)
	p.ok = p.ok && minutes <= 59
	return sign * (hours*3600 + minutes*60)
}

// daysIn is the length of a month in the proleptic Gregorian calendar.
func daysIn(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts days from 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that
// the leap day is a year's last, in eras of 400 years.
func daysSinceEpoch(year, month, day int64) int64 {
	if month <= 2 {
		year--
	}
	era := year / 400
	if year < 0 { // only year 0's January and February
		era = -1
	}
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return era*146_097 + dayOfEra - 719_468
}
