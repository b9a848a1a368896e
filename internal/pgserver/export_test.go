package pgserver

import "testing"

// SetSearch replaces the folders that Find looks into for one test.
func SetSearch(t *testing.T, patterns []string) {
	old := searchPatterns
	searchPatterns = patterns
	t.Cleanup(func() { searchPatterns = old })
}
