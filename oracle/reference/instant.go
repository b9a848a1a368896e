package reference

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// rfc3339 is the subset of design section 3: ASCII digits, two-digit fields, upper-case T and Z, at most nine fraction
// digits after a point. Ranges are checked afterwards.
var rfc3339 = regexp.MustCompile(
	`\A([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))\z`)

// instant is a text's time in nanoseconds since the Unix epoch, and whether it is one that int64 holds. Go's own parser
// accepts more than the rule does (B078, B083), so it is not used.
func instant(text string) (int64, bool) {
	fields := rfc3339.FindStringSubmatch(text)
	if fields == nil {
		return 0, false
	}
	year, month, day := number(fields[1]), number(fields[2]), number(fields[3])
	hour, minute, second := number(fields[4]), number(fields[5]), number(fields[6])
	offsetHour, offsetMinute := number(fields[9]), number(fields[10])
	if hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59 {
		return 0, false
	}
	civil := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if civil.Month() != time.Month(month) || civil.Day() != day {
		return 0, false // time.Date made another day of an impossible one
	}
	seconds := civil.Unix()
	east := int64(offsetHour*3600 + offsetMinute*60)
	if fields[8] == "-" {
		east = -east
	}
	nanos := number((fields[7] + strings.Repeat("0", 9))[:9])
	total := new(big.Int).Mul(big.NewInt(seconds-east), big.NewInt(1_000_000_000))
	total.Add(total, big.NewInt(int64(nanos)))
	return total.Int64(), total.IsInt64()
}

// number is the value of a few decimal digits; none are 0.
func number(digits string) int {
	if digits == "" {
		return 0
	}
	value, err := strconv.Atoi(digits)
	if err != nil { // cannot happen: the expression matched at most nine digits
		return -1
	}
	return value
}
