package compare

import (
	"fmt"
	"math"
	"time"
)

// Fact is a balance or an alert as a view shows it, without the texts that most facts share.
type Fact struct {
	// Key is the number of the stock key among the configured ones, sorted by bytes; -1 where it is none of these: then
	// Item and Location say which it is, and else they are empty.
	Key            int32
	Item, Location string
	// Day is the number of days since 1970-01-01, or EndOfTime, or BeginningOfTime.
	Day int32
	// Close is the daily close; Threshold is 0 in a balance.
	Close, Threshold int64
}

// The days that a database may hold without their being any.
const (
	EndOfTime       int32 = math.MaxInt32
	BeginningOfTime int32 = math.MinInt32
)

// dayText is a day as a difference shows it: YYYY-MM-DD, with BC behind it where it is before Christ, who had no year 0.
func dayText(day int32) string {
	switch day {
	case EndOfTime:
		return "infinity"
	case BeginningOfTime:
		return "-infinity"
	}
	year, month, of := time.Unix(int64(day)*86_400, 0).UTC().Date()
	if year < 1 {
		return fmt.Sprintf("%04d-%02d-%02d BC", 1-year, month, of)
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, of)
}

// dayNumber reads a day as a projection writes it; false where it is none.
func dayNumber(text string) (int32, bool) {
	if len(text) != len("2006-01-02") || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	digits := func(s string) (n int) {
		for i := range len(s) {
			if s[i] < '0' || s[i] > '9' {
				return -1
			}
			n = n*10 + int(s[i]-'0')
		}
		return n
	}
	year, month, day := digits(text[:4]), digits(text[5:7]), digits(text[8:])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	// Days from civil, with the year beginning in March, so that a leap day is its last.
	if month < 3 {
		year--
		month += 12
	}
	n := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1
	const epoch = 719_468 // 1970-01-01 by that count
	return int32(n - epoch), true
}
