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
