package report

import (
	"strconv"
	"strings"
)

// keyName shows a stock key on one line.
func keyName(item, location string) string { return plain(item) + "/" + plain(location) }

// plain shows a name as it is where that cannot mislead, else quoted: names may hold any character but U+0000.
func plain(s string) string {
	quoted := strconv.Quote(s)
	if s == "" || len(quoted) != len(s)+2 || strings.ContainsAny(s, " /@:") {
		return quoted
	}
	return s
}
