package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mutant is one fault of testdata/mutants, a file each.
type mutant struct {
	// name is the file's name without extension: NNN-what-is-wrong.
	name string
	// File is the source file, below the root; Go or something that is compiled in.
	File string `yaml:"file"`
	// Find is text that occurs exactly once in the file; Replace is what the fault puts in its place.
	Find    string `yaml:"find"`
	Replace string `yaml:"replace"`
	// Kills are the tests that find the fault, fast ones first. One of them is enough, but those with marks all have to.
	Kills []suite `yaml:"kills"`
	// Reason is what the fault would do to a user.
	Reason string `yaml:"reason"`
	// Equivalent, where set, is why no test can tell the mutant from the original.
	Equivalent string `yaml:"equivalent,omitempty"`
}

// suite is some tests of one package.
type suite struct {
	// Package is a package path relative to the root, as the go command takes it.
	Package string `yaml:"package"`
	// Run is what go test's -run takes.
	Run string `yaml:"run"`
	// Marks are coverage marks in whose function the fault is, and which these tests are to be evidence for: they have to
	// find the fault by themselves, whatever others do. internal/evidence holds marks and tests together.
	Marks []string `yaml:"marks,omitempty"`
}

// stage is the part of the project that the fault is in.
func (m *mutant) stage() string {
	parts := strings.Split(m.File, "/")
	if len(parts) > 2 && parts[0] != "vectorized" {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// namePattern is the shape of a mutant's name.
var namePattern = regexp.MustCompile(`^[0-9]{3}-[a-z0-9-]+$`)

// load reads the mutants whose name matches, in the order of their numbers. Anything wrong with any file is an error.
func load(root string, only *regexp.Regexp) ([]*mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, mutantsFolder, "*"))
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	var errs []error
	numbers := map[string]string{}
	for _, file := range files {
		m, err := read(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other := numbers[m.name[:3]]; other != "" {
			errs = append(errs, fmt.Errorf("%s and %s have one number", other, m.name))
		}
		numbers[m.name[:3]] = m.name
		if only.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("no mutant in %s matches %q", mutantsFolder, only)
	}
	return mutants, nil
}

// read reads and checks one mutant.
func read(file string) (*mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &mutant{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case filepath.Ext(file) != ".yaml" || !namePattern.MatchString(m.name):
		err = errors.New("is not named NNN-what-is-wrong.yaml")
	case m.File == "" || path.Clean(m.File) != m.File || strings.HasPrefix(m.File, "../") || path.IsAbs(m.File):
		err = fmt.Errorf("file %q is not a path below the root", m.File)
	case m.Find == "" || m.Find == m.Replace:
		err = errors.New("changes nothing")
	case m.Reason == "" || len(m.Kills) == 0:
		err = errors.New("needs a reason and the tests that find it")
	}
	for _, s := range m.Kills {
		if _, bad := regexp.Compile(s.Run); bad != nil || s.Run == "" || !strings.HasPrefix(s.Package, "./") {
			err = fmt.Errorf("kills: package %q, run %q", s.Package, s.Run)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// errStale says that a mutant no longer fits the source.
var errStale = errors.New("stale: fit it to the source")

// apply returns the mutated text of the file.
func (m *mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStale, err)
	}
	if n := bytes.Count(text, []byte(m.Find)); n != 1 {
		return nil, fmt.Errorf("%w: the text to find occurs %d times in %s", errStale, n, m.File)
	}
	return bytes.Replace(text, []byte(m.Find), []byte(m.Replace), 1), nil
}

// packageOf is the package that the file is compiled into: its folder, or the nearest one above with Go files in it.
func (m *mutant) packageOf(root string) (string, error) {
	for dir := path.Dir(m.File); dir != "."; dir = path.Dir(dir) {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			return "", err
		}
		if len(files) > 0 {
			return "./" + dir, nil
		}
	}
	return "", fmt.Errorf("%w: %s belongs to no package", errStale, m.File)
}
