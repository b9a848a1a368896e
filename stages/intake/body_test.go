package intake

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyNames: a repeated member is found among few and among many.
func TestManyNames(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 8, 9, 20} {
		var members []string
		var s names
		for n := range count {
			members = append(members, fmt.Sprintf("m%d", n))
			if !s.add(members[n]) {
				t.Fatalf("%s is new", members[n])
			}
		}
		for _, name := range members {
			if s.add(name) {
				t.Errorf("%s of %s was there", name, strings.Join(members, ", "))
			}
		}
	}
}

// TestMissingMembersAreNamed: what is not there is said to be missing, not to be wrong.
func TestMissingMembersAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"request_id":"a","transaction":{}}`: "",
		`{"transaction":{}}`:                  "request_id is missing or empty",
		`{"request_id":"","transaction":{}}`:  "request_id is missing or empty",
		`{"request_id":"..","transaction":1}`: "request_id must have 1 to",
		`{"request_id":"a"}`:                  "transaction is missing",
	} {
		_, err := ParseBody([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
