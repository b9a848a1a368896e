package diagnostics

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// APIVersion and Kind begin every file.
const (
	APIVersion = "amends.dev/v1"
	Kind       = "ExpectedDiagnostics"
)

// Render writes a file as YAML that Parse reads back to the same value.
func Render(f *File) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Exactly what a verification of this history has to find. One more or one fewer is a difference.\n"+
		"apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n", APIVersion, Kind, scalar(f.Name))
	if f.TopicID != "" {
		fmt.Fprintf(&b, "  # Only for this incarnation of the source topic; without the line, for any.\n  topicId: %s\n", scalar(f.TopicID))
	}
	if len(f.Entries) == 0 {
		b.WriteString("  entries: []\n")
		return []byte(b.String())
	}
	b.WriteString("  entries:\n")
	for _, e := range f.Entries {
		fmt.Fprintf(&b, "    - partition: %d\n      offset: %d\n      reason: %s\n      fingerprint: %s\n",
			e.Partition, e.Offset, e.Reason, scalar(e.Fingerprint))
		if e.Payload != "" {
			fmt.Fprintf(&b, "      payload: %s\n", scalar(e.Payload))
		}
	}
	return []byte(b.String())
}

// scalar quotes a string so that every YAML reader takes it for the same string: a name may hold any character but
// U+0000, and some must not stand in YAML as they are.
func scalar(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) >= 0 {
		return strconv.QuoteToASCII(s) // all of its escapes are YAML's too
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
