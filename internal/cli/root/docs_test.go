package root

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
)

// session is one ```console block of a page: commands, each with what it is said to print.
type session struct {
	place string
	steps []step
}

// step is one command and its expected output, in which a line "..." stands for any number of lines.
type step struct {
	command string
	want    []string
}

// TestDocumentedSessions runs the console blocks of the documentation, in the repository root, and compares what they
// print. "$ amendsctl ..." runs the program; "$ echo $?" prints the exit code of the command before it. Blocks of other
// kinds are for people.
func TestDocumentedSessions(t *testing.T) {
	t.Chdir("../../..")
	pages := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir("docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions(page, string(text)) {
			ran++
			t.Run(s.place, func(t *testing.T) {
				for _, fault := range rerun(s, documented) {
					t.Error(fault)
				}
			})
		}
	}
	if ran == 0 {
		t.Error("no page has a console block")
	}
}

// TestRerunCatches damages a session that passes.
func TestRerunCatches(t *testing.T) {
	echo := func(args []string) (string, exit.Code) { return strings.Join(args, "\n") + "\n", exit.Drift }
	f := func(text string, wantFaults int) {
		t.Helper()
		all := sessions("page.md", "Text\n```console\n"+text+"```\n```\n$ amendsctl not this\n```\n")
		if len(all) != 1 || len(all[0].steps) == 0 {
			t.Fatalf("sessions = %+v, want one with steps", all)
		}
		if faults := rerun(all[0], echo); len(faults) != wantFaults {
			t.Errorf("%q: faults %q, want %d", text, faults, wantFaults)
		}
	}
	f("$ amendsctl a b c\na\nb\nc\n$ echo $?\n12\n", 0)
	f("$ amendsctl a b c\n...\nc\n$ amendsctl x\nx\n", 0)
	f("$ amendsctl a b c\na\n...\n", 0)
	f("$ amendsctl a b c\na\nb\n", 1)
	f("$ amendsctl a b c\na\n...\nb\n", 1)
	f("$ amendsctl a b c\na\nb\nc\n$ echo $?\n0\n", 1)
	f("$ rm -r x\n", 1)
}

// documented runs amendsctl and returns both streams together.
func documented(args []string) (string, exit.Code) {
	var out bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Now: time.Now}
	code := Main(a, args)
	return out.String(), code
}

// sessions are the console blocks of a page.
func sessions(page, text string) []session {
	var all []session
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !inside && line == "```console":
			inside = true
			all = append(all, session{place: fmt.Sprintf("%s:%d", page, i+1)})
		case inside && line == "```":
			inside = false
		case inside:
			s := &all[len(all)-1]
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				s.steps = append(s.steps, step{command: command})
			} else if len(s.steps) > 0 {
				last := &s.steps[len(s.steps)-1]
				last.want = append(last.want, line)
			}
		}
	}
	return all
}

// rerun runs the steps and returns what differs from the page.
func rerun(s session, run func([]string) (string, exit.Code)) []string {
	var faults []string
	var code exit.Code
	for _, step := range s.steps {
		got := fmt.Sprintf("%d\n", code)
		if step.command != "echo $?" {
			args, ok := strings.CutPrefix(step.command, "amendsctl ")
			if !ok {
				faults = append(faults, fmt.Sprintf("$ %s: only amendsctl and echo $? can be run", step.command))
				continue
			}
			got, code = run(strings.Fields(args))
		}
		if lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n"); !fits(step.want, lines) {
			faults = append(faults, fmt.Sprintf("$ %s: printed\n%s\nthe page says\n%s", step.command, got, strings.Join(step.want, "\n")))
		}
	}
	return faults
}

// fits reports whether the lines are those of the pattern.
func fits(pattern, lines []string) bool {
	switch {
	case len(pattern) == 0:
		return len(lines) == 0 || len(lines) == 1 && lines[0] == ""
	case pattern[0] == "...":
		for i := range len(lines) + 1 {
			if len(pattern) == 1 || fits(pattern[1:], lines[i:]) && i < len(lines) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && lines[0] == pattern[0] && (len(pattern) == 1 && len(lines) == 1 || len(pattern) > 1 && fits(pattern[1:], lines[1:]))
}
