package explain

import (
	"strconv"
	"strings"
)

// Show is a stock key on one line, as item/location.
func Show(n Name) string { return Plain(n.Item) + "/" + Plain(n.Location) }

// Plain shows a name as it is where that cannot mislead, else quoted: names may hold any character but U+0000.
func Plain(s string) string {
	quoted := strconv.Quote(s)
	if s == "" || len(quoted) != len(s)+2 || strings.ContainsAny(s, " /@:") {
		return quoted
	}
	return s
}

// path shows a file name or a topic as it is, slashes and blanks included, where all of it can be seen; else quoted.
func path(s string) string {
	if quoted := strconv.Quote(s); s == "" || len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}
