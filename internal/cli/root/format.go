package root

import (
	"fmt"
	"strings"
)

// format is the value of the persistent --output flag: text or json. A verb with more formats declares an --output
// flag of its own, which then hides this one.
type format string

// The formats every verb knows.
const (
	formatText format = "text"
	formatJSON format = "json"
)

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *format) Set(value string) error {
	switch format(value) {
	case formatText, formatJSON:
		*f = format(value)
		return nil
	}
	return fmt.Errorf("want text or json, got %q", value)
}

// Type implements pflag.Value. It is "string" so that verbs may read the flag with GetString.
func (f *format) Type() string { return "string" }

// wantsJSON tells from the raw arguments whether errors are to be JSON. It reads the arguments and not the parsed
// flags because the error to report may be that the flags did not parse.
func wantsJSON(args []string) bool {
	wants := false
	for i, arg := range args {
		switch {
		case arg == "--":
			return wants
		case arg == "-o" || arg == "--output":
			if i+1 < len(args) {
				wants = args[i+1] == string(formatJSON)
			}
		case strings.HasPrefix(arg, "--output="):
			wants = strings.TrimPrefix(arg, "--output=") == string(formatJSON)
		case strings.HasPrefix(arg, "-o"):
			wants = strings.TrimPrefix(strings.TrimPrefix(arg, "-o"), "=") == string(formatJSON)
		}
	}
	return wants
}
