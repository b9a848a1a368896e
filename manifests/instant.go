package manifests

import (
	"fmt"
	"math"
	"time"
)

const nanosPerSecond = 1_000_000_000

// parseInstant reads an instant by the strict rules of design section 3: RFC 3339 with ASCII digits, upper-case T and
// Z, two-digit fields, at most nine fraction digits after a point, seconds 00-59, an offset within ±23:59, and a value
// that fits int64 nanoseconds. Go's own parser accepts more (B078, B083).
func parseInstant(s string) (int64, error) {
	c := cursor{rest: s}
	year := c.digits(4)
	c.literal('-')
	month := c.digits(2)
	c.literal('-')
	day := c.digits(2)
	c.literal('T')
	hour := c.digits(2)
	c.literal(':')
	minute := c.digits(2)
	c.literal(':')
	second := c.digits(2)
	nanos := c.fraction()
	offset := c.offset()
	if c.failed || c.rest != "" {
		return 0, fmt.Errorf("want an instant such as 2026-01-01T00:00:00Z (RFC 3339), got %s", quote(s))
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, fmt.Errorf("no such date or time: %s", quote(s))
	}
	seconds := daysFromCivil(year, month, day)*86400 + hour*3600 + minute*60 + second - offset
	ns, ok := toNanos(seconds, nanos)
	if !ok {
		return 0, fmt.Errorf("want an instant between 1677-09-21 and 2262-04-11, got %s", quote(s))
	}
	return ns, nil
}

// formatInstant renders nanoseconds since the Unix epoch as RFC 3339 in UTC.
func formatInstant(ns int64) string {
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

// cursor reads fixed fields from the front of a text; once failed it stays failed.
type cursor struct {
	rest   string
	failed bool
}

func (c *cursor) literal(b byte) {
	if c.rest == "" || c.rest[0] != b {
		c.failed, c.rest = true, ""
		return
	}
	c.rest = c.rest[1:]
}

func (c *cursor) digits(n int) int64 {
	if len(c.rest) < n {
		c.failed, c.rest = true, ""
		return 0
	}
	var v int64
	for i := range n {
		b := c.rest[i]
		if b < '0' || b > '9' {
			c.failed, c.rest = true, ""
			return 0
		}
		v = v*10 + int64(b-'0')
	}
	c.rest = c.rest[n:]
	return v
}

// fraction reads an optional point with one to nine digits, as nanoseconds.
func (c *cursor) fraction() int64 {
	if c.rest == "" || c.rest[0] != '.' {
		return 0
	}
	c.literal('.')
	n := 0
	for n < len(c.rest) && n < 9 && c.rest[n] >= '0' && c.rest[n] <= '9' {
		n++
	}
	if n == 0 {
		c.failed = true
		return 0
	}
	v := c.digits(n)
	for range 9 - n {
		v *= 10
	}
	return v
}

// offset reads Z or ±hh:mm, as seconds east of UTC.
func (c *cursor) offset() int64 {
	if c.rest == "Z" {
		c.rest = ""
		return 0
	}
	sign := int64(1)
	if c.rest != "" && c.rest[0] == '-' {
		sign = -1
		c.literal('-')
	} else {
		c.literal('+')
	}
	hours := c.digits(2)
	c.literal(':')
	minutes := c.digits(2)
	if hours > 23 || minutes > 59 {
		c.failed = true
	}
	return sign * (hours*3600 + minutes*60)
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysFromCivil counts days since 1970-01-01 in the proleptic Gregorian calendar, for years from 0 on. Years are
// taken to begin in March, so that the leap day is the last of a year.
func daysFromCivil(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	if year < 0 { // January and February of year 0: shift one 400-year cycle of 146,097 days
		return daysFromCivil(year+400, month, day) - 146097
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

// toNanos combines seconds and nanoseconds, false where int64 cannot hold the result.
func toNanos(seconds, nanos int64) (int64, bool) {
	const low, high = math.MinInt64/nanosPerSecond - 1, math.MaxInt64 / nanosPerSecond
	if seconds < low || seconds > high {
		return 0, false
	}
	if seconds < 0 { // keep both terms negative, so that the lowest instant does not overflow on the way
		seconds, nanos = seconds+1, nanos-nanosPerSecond
		ns := seconds*nanosPerSecond + nanos
		return ns, ns < 0
	}
	ns := seconds*nanosPerSecond + nanos
	return ns, ns >= 0
}
