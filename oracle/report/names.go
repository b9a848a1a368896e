package report

import (
	"strconv"
	"strings"

	"amends.dev/amends/oracle/explain"
)

// keyName shows a stock key on one line.
func keyName(item, location string) string {
	return explain.Show(explain.Name{Item: item, Location: location})
}

// plain shows a name as it is where that cannot mislead, else quoted.
func plain(s string) string { return explain.Plain(s) }

// visible replaces what cannot be seen, or turns what stands around it, by its escape: control characters, separators of
// lines and directions. Line ends and tabs stay.
func visible(text string) string {
	unseen := func(c rune) bool { return !strconv.IsPrint(c) && c != '\n' && c != '\t' }
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if unseen(c) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
