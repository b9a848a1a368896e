package worlds

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSeeds runs the kept histories again: those that once found a fault.
func TestSeeds(t *testing.T) {
	checks := map[string]func(*history, *coverage) error{"property": judged, "metamorphic": processedAlike}
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines, kept := bufio.NewScanner(file), 0
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var name string
		var seed uint64
		if _, err := fmt.Sscanf(line, "%s %d", &name, &seed); err != nil || checks[name] == nil {
			t.Fatalf("testdata/seeds.txt: %q is no kept seed: %v", line, err)
		}
		kept++
		t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) { checkSeed(t, name, seed, new(coverage), checks[name]) })
	}
	if err := lines.Err(); err != nil || kept == 0 {
		t.Errorf("%d seeds are kept: %v", kept, err)
	}
}
