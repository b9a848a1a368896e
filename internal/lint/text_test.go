package lint

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// textRule finds faults in the text of one file of any kind.
type textRule func(name string, text []byte) []string

// leftovers finds notes of work that was not finished. The words are put together here so that they are not found.
func leftovers(name string, text []byte) []string {
	return findWords(name, text, "is unfinished work: do it, or describe it as an issue", "TO"+"DO", "FIX"+"ME", "XX"+"X:")
}

// workplacePaths finds paths of the machine that a text was written on: the project stands by itself.
func workplacePaths(name string, text []byte) []string {
	return findWords(name, text, "is a path of one machine", "/wo"+"rk/", "/Use"+"rs/")
}

// findWords reports the lines that hold one of the words.
func findWords(name string, text []byte, instead string, words ...string) []string {
	var faults []string
	for i, line := range strings.Split(string(text), "\n") {
		for _, word := range words {
			if strings.Contains(line, word) {
				faults = append(faults, fmt.Sprintf("%s:%d: %s %s", name, i+1, word, instead))
			}
		}
	}
	return faults
}

// brokenLinks finds relative links of Markdown files to files that do not exist.
func brokenLinks(name string, text []byte) []string {
	if path.Ext(name) != ".md" {
		return nil
	}
	var faults []string
	for i, line := range strings.Split(string(text), "\n") {
		for rest := line; ; {
			_, after, found := strings.Cut(rest, "](")
			if !found {
				break
			}
			target, remaining, closed := strings.Cut(after, ")")
			if !closed {
				break
			}
			rest = remaining
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(rootFolder, path.Dir(name), target)); err != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: link to %s: no such file", name, i+1, target))
			}
		}
	}
	return faults
}

func TestTexts(t *testing.T) {
	checked := 0
	err := walk(func(name string) error {
		text, err := os.ReadFile(filepath.Join(rootFolder, name))
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 { // binary
			return nil
		}
		checked++
		for _, fault := range slices.Concat(leftovers(name, text), workplacePaths(name, text), brokenLinks(name, text)) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	if checked < 10 {
		t.Errorf("only %d text files were checked: is %s the repository root?", checked, rootFolder)
	}
}

func TestTextsCatches(t *testing.T) {
	f := func(r textRule, good, bad string) {
		t.Helper()
		if faults := r("docs/page.md", []byte(good)); len(faults) != 0 {
			t.Errorf("the undamaged twin has faults: %q", faults)
		}
		if faults := r("docs/page.md", []byte(bad)); len(faults) != 1 {
			t.Errorf("want one fault in %q, found %q", bad, faults)
		}
	}
	f(leftovers, "done\n", "a line\n// TO"+"DO: more\n")
	f(leftovers, "fixed\n", "FIX"+"ME\n")
	f(workplacePaths, "network/stream\n", "see /wo"+"rk/notes.md\n")
	f(brokenLinks, "[readme](../README.md), [part](#part), [site](https://example.org)\n", "[readme](../README.md) [gone](gone.md)\n")
}
