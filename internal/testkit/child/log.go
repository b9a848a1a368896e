package child

import (
	"strings"
	"sync"
	"testing"
)

// shown is how many bytes of a log's end are shown.
const shown = 20_000

// Log collects what a process writes and may be read meanwhile; one that NewLog made shows when its test fails. The zero value
// is empty and ready. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// NewLog makes an empty log of that name, which shows only when the test fails.
func NewLog(t testing.TB, name string) *Log {
	l := &Log{}
	t.Cleanup(func() {
		if t.Failed() {
			text := l.String()
			t.Logf("log of %s ends:\n%s", name, text[max(0, len(text)-shown):])
		}
	})
	return l
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
