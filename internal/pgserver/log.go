package pgserver

import (
	"os"
	"strings"
)

// logSize is how long the server's log is, 0 where there is none.
func (s *Server) logSize() int64 {
	info, err := os.Stat(s.logPath())
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSays is what the server's log says about a failure after its first bytes, as the end of a one-line error: the
// fatal messages, or else the last line. It is empty where the log says nothing.
func (s *Server) logSays(after int64) string {
	text, err := os.ReadFile(s.logPath())
	if err != nil || int64(len(text)) <= after {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text[after:])), "\n")
	var fatal []string
	for _, line := range lines {
		for _, severity := range []string{"FATAL:", "PANIC:"} {
			if _, message, found := strings.Cut(line, severity); found {
				fatal = append(fatal, strings.TrimSpace(message))
			}
		}
	}
	if len(fatal) == 0 {
		fatal = lines[len(lines)-1:]
	}
	return ": " + strings.Join(fatal, "; ") + " (log: " + s.logPath() + ")"
}
