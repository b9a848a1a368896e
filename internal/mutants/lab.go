package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is what became of a mutant.
type outcome string

const (
	killed outcome = "killed"
	// survived: all named tests pass although the fault is there.
	survived outcome = "survived"
	// failed: stale, not compiling, or something else that says nothing about the tests.
	failed outcome = "error"
)

// result is one mutant that was tried.
type result struct {
	mutant  *mutant
	outcome outcome
	// detail is the test that killed it, or what went wrong.
	detail string
	took   time.Duration
}

// lab tries mutants. It is safe for concurrent use.
type lab struct {
	root, temp string
	timeout    time.Duration
}

// twins runs the named tests on the source as it is: a test that fails anyway finds no fault. What is named down to
// subtests is run as it is named, because a test may want all of its own; the rest of a package is run at once.
func (l *lab) twins(ctx context.Context, mutants []*mutant) error {
	named := map[string]map[string]bool{}
	for _, m := range mutants {
		for _, s := range m.Kills {
			if named[s.Package] == nil {
				named[s.Package] = map[string]bool{}
			}
			named[s.Package][s.Run] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(named)) {
		var whole []string
		for _, run := range slices.Sorted(maps.Keys(named[pkg])) {
			if !strings.Contains(run, "/") {
				whole = append(whole, run)
				continue
			}
			if err := l.twin(ctx, suite{Package: pkg, Run: run}); err != nil {
				return err
			}
		}
		if len(whole) > 0 {
			if err := l.twin(ctx, suite{Package: pkg, Run: strings.Join(whole, "|")}); err != nil {
				return err
			}
		}
	}
	return nil
}

// twin runs some tests on the source as it is.
func (l *lab) twin(ctx context.Context, s suite) error {
	v, err := l.test(ctx, s, "")
	if err != nil {
		return fmt.Errorf("the undamaged twin: %w", err)
	}
	if v.failed {
		return fmt.Errorf("the undamaged twin: %s of %s, run as %s, fails\n%s", v.first, s.Package, s.Run, v.output)
	}
	return nil
}

// all tries the mutants, some at a time, and reports each as it ends. The results are in the order of the mutants.
func (l *lab) all(ctx context.Context, mutants []*mutant, parallel int, report func(result)) []result {
	results := make([]result, len(mutants))
	slots := make(chan struct{}, parallel)
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i, m := range mutants {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			r := result{mutant: m}
			r.outcome, r.detail = l.try(ctx, m)
			r.took = time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			results[i] = r
			report(r)
		})
	}
	wait.Wait()
	return results
}

// try plants one fault and runs the named tests until one fails, and of those that stand for marks every one.
func (l *lab) try(ctx context.Context, m *mutant) (outcome, string) {
	overlay, err := l.plant(ctx, m)
	if err != nil {
		return failed, err.Error()
	}
	by := ""
	for _, s := range m.Kills {
		if by != "" && len(s.Marks) == 0 {
			continue
		}
		v, err := l.test(ctx, s, overlay)
		switch {
		case err != nil:
			return failed, err.Error()
		case v.failed && by == "":
			by = strings.TrimPrefix(s.Package, "./") + " " + v.first
		case !v.failed && len(s.Marks) > 0:
			return survived, cmp.Or(m.Equivalent, fmt.Sprintf("%s of %s passes, and is to stand for %s", s.Run, s.Package, strings.Join(s.Marks, ", ")))
		}
	}
	if by == "" {
		return survived, m.Equivalent
	}
	return killed, by
}

// plant writes the mutated copy and its overlay, and compiles it.
func (l *lab) plant(ctx context.Context, m *mutant) (overlay string, err error) {
	text, err := m.apply(l.root)
	if err != nil {
		return "", err
	}
	pkg, err := m.packageOf(l.root)
	if err != nil {
		return "", err
	}
	copied := filepath.Join(l.temp, m.name+filepath.Ext(m.File))
	overlay = filepath.Join(l.temp, m.name+".json")
	replaced := map[string]map[string]string{"Replace": {filepath.Join(l.root, filepath.FromSlash(m.File)): copied}}
	content, err := json.Marshal(replaced)
	if err != nil {
		return "", err
	}
	for file, content := range map[string][]byte{copied: text, overlay: content} {
		if err := os.WriteFile(file, content, fs.FileMode(0o600)); err != nil {
			return "", err
		}
	}
	build := l.command(ctx, "build", "-overlay", overlay, pkg)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, output)
	}
	return overlay, nil
}

// test runs some tests, over an overlay where one is given. An error says that nothing was found out.
func (l *lab) test(ctx context.Context, s suite, overlay string) (verdict, error) {
	args := []string{"test", "-json", "-vet=off", "-ldflags=-s -w", "-failfast", "-timeout", l.timeout.String(), "-run", s.Run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	args = append(args, s.Package)
	if l.usesRapid(s.Package) {
		// The same inputs in every run, and no failing ones left in the tree.
		args = append(args, "-args", "-rapid.seed=1", "-rapid.nofailfile")
	}
	cmd := l.command(ctx, args...)
	var output, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return verdict{}, errors.Join(err, ctx.Err())
	}
	v := judge(output.Bytes())
	switch {
	case v.broken:
		return v, fmt.Errorf("the tests of %s do not compile\n%s%s", s.Package, v.output, problems.Bytes())
	case (err != nil) != v.failed:
		return v, fmt.Errorf("go test of %s: %w\n%s", s.Package, err, problems.Bytes())
	case !v.failed && unmatched(s.Run, v.passed) != "":
		return v, fmt.Errorf("no test of %s matches %s", s.Package, unmatched(s.Run, v.passed))
	}
	return v, nil
}

// command is one call of the go command at the root.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = l.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// usesRapid tells whether the tests of a package know rapid's flags.
func (l *lab) usesRapid(pkg string) bool {
	files, err := filepath.Glob(filepath.Join(l.root, filepath.FromSlash(pkg), "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte(`"pgregory.net/rapid"`))
	})
}
