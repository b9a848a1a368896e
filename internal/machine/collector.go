package machine

import "runtime/debug"

// Thrifty makes the garbage collector start earlier than it would: a program that computes for a second over large columns
// needs less memory then, and hardly more time. GOGC, where the user sets it, is left alone.
func Thrifty(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
}
