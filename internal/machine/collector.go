package machine

import "runtime/debug"

// Generous makes the garbage collector start later than it would: a server that keeps next to nothing between requests
// spends less time on it then, for some tens of megabytes. GOGC, where the user sets it, is left alone.
func Generous(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Thrifty makes the garbage collector start earlier than it would: a program that computes for a second over large columns
// needs less memory then, and hardly more time. GOGC, where the user sets it, is left alone.
func Thrifty(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
}
