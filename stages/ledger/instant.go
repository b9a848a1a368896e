package ledger

import "math"

// Units of time in the encodings of design section 3.
const (
	nanosPerSecond = 1_000_000_000
	secondsPerDay  = 86_400
	nanosPerDay    = secondsPerDay * nanosPerSecond
)

// DayOf returns the UTC day of an instant in nanoseconds since the Unix epoch, as days since the Unix epoch. It rounds
// down, also before 1970 (B081).
func DayOf(instant int64) int32 {
	day := instant / nanosPerDay
	if instant%nanosPerDay < 0 {
		day--
	}
	return int32(day) // int64 nanoseconds span 213,504 days
}

// FormatDay returns a day since the Unix epoch as YYYY-MM-DD. It serves the days that DayOf returns, which lie in the
// years 1677 to 2262.
func FormatDay(day int32) string { return string(appendDay(nil, day)) }

// appendDay appends a day as YYYY-MM-DD.
func appendDay(dst []byte, day int32) []byte {
	year, month, dayOfMonth := civil(int64(day))
	return append(dst,
		byte('0'+year/1000%10), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-',
		byte('0'+month/10), byte('0'+month%10), '-',
		byte('0'+dayOfMonth/10), byte('0'+dayOfMonth%10))
}

// Both calendar conversions count in eras of 400 years that begin on 1 March, which puts the leap day at the end.
const (
	daysPerEra  = 146_097
	epochOffset = 719_468 // days from 0000-03-01 to 1970-01-01
)

// civil converts days since the Unix epoch, not before 0000-03-01, into a proleptic Gregorian date.
func civil(days int64) (year, month, day int64) {
	days += epochOffset
	era := days / daysPerEra
	dayOfEra := days % daysPerEra
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	marchMonth := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*marchMonth+2)/5 + 1
	year, month = era*400+yearOfEra, marchMonth+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// daysFromCivil converts a proleptic Gregorian date of year 0 or later into days since the Unix epoch.
func daysFromCivil(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	year += 400 // keeps the first months of year 0 out of negative division
	era := year / 400
	yearOfEra := year % 400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return (era-1)*daysPerEra + dayOfEra - epochOffset
}

// daysInMonth returns the length of a month.
func daysInMonth(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

// parseInstant parses the accepted form of RFC 3339 (design section 3) into nanoseconds since the Unix epoch:
// upper-case T and Z, two-digit fields, seconds up to 59, one to nine fraction digits after a point, an offset within
// ±23:59. It is written out because time.Parse accepts more: 24-hour offsets, offset minutes above 59, a comma, and
// digits beyond the ninth (B077, B078, B083). False also where int64 nanoseconds cannot hold the instant.
func parseInstant(text []byte) (int64, bool) {
	const fixed = len("2006-01-02T15:04:05")
	if len(text) <= fixed || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	century, ok1 := twoDigits(text, 0, 99)
	yearOfCentury, ok2 := twoDigits(text, 2, 99)
	month, ok3 := twoDigits(text, 5, 12)
	day, ok4 := twoDigits(text, 8, 31)
	hour, ok5 := twoDigits(text, 11, 23)
	minute, ok6 := twoDigits(text, 14, 59)
	second, ok7 := twoDigits(text, 17, 59)
	year := century*100 + yearOfCentury
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 || month < 1 || day < 1 || day > daysInMonth(year, month) {
		return 0, false
	}
	nanos, rest, ok := parseFraction(text[fixed:])
	if !ok {
		return 0, false
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return 0, false
	}
	return joinInstant(daysFromCivil(year, month, day)*secondsPerDay+hour*3600+minute*60+second-offset, nanos)
}

// parseFraction parses an optional point with one to nine digits into nanoseconds and returns what follows.
func parseFraction(text []byte) (nanos int64, rest []byte, ok bool) {
	if text[0] != '.' {
		return 0, text, true
	}
	text = text[1:]
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits < 1 || digits > 9 {
		return 0, nil, false
	}
	for i := range 9 {
		nanos *= 10
		if i < digits {
			nanos += int64(text[i] - '0')
		}
	}
	return nanos, text[digits:], true
}

// parseOffset parses Z or ±hh:mm, which must be all of text, into seconds east of UTC.
func parseOffset(text []byte) (seconds int64, ok bool) {
	if len(text) == 1 && text[0] == 'Z' {
		return 0, true
	}
	if len(text) != len("+00:00") || text[3] != ':' || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hours, ok1 := twoDigits(text, 1, 23)
	minutes, ok2 := twoDigits(text, 4, 59)
	seconds = hours*3600 + minutes*60
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, ok1 && ok2
}

// twoDigits parses the two ASCII digits at text[at:], at most limit.
func twoDigits(text []byte, at int, limit int64) (int64, bool) {
	tens, ones := text[at], text[at+1]
	if tens < '0' || tens > '9' || ones < '0' || ones > '9' {
		return 0, false
	}
	value := int64(tens-'0')*10 + int64(ones-'0')
	return value, value <= limit
}

// joinInstant returns seconds·10⁹ + nanos, false where int64 cannot hold it. nanos is 0..999,999,999.
func joinInstant(seconds, nanos int64) (int64, bool) {
	// Counting the nanoseconds back from the next second keeps the product of the lowest second in range.
	if seconds < 0 {
		seconds, nanos = seconds+1, nanos-nanosPerSecond
	}
	const limit = math.MaxInt64 / nanosPerSecond
	if seconds > limit || seconds < -limit {
		return 0, false
	}
	instant := seconds * nanosPerSecond
	if nanos > 0 && instant > math.MaxInt64-nanos || nanos < 0 && instant < math.MinInt64-nanos {
		return 0, false
	}
	return instant + nanos, true
}
