package diagnostics

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"amends.dev/amends/manifests"
)

const (
	// depthMax bounds nesting; a valid file needs four levels.
	depthMax = 8
	// problemsMax bounds how many faults of one file are kept.
	problemsMax = 100
)

// walker reads typed values out of YAML nodes, and collects what is wrong with them. Nothing is converted: a number is a
// plain decimal literal, and a name that YAML would read as something else must be quoted.
type walker struct {
	file     string
	problems []manifests.Problem
}

// mapping is one YAML mapping whose fields are all known and occur once.
type mapping struct {
	node   *yaml.Node
	path   string
	values map[string]*yaml.Node
}

// add collects a problem, up to problemsMax.
func (w *walker) add(line, column int, path, message string) {
	if len(w.problems) < problemsMax {
		w.problems = append(w.problems, manifests.Problem{File: w.file, Line: line, Column: column, Path: path, Message: message})
	}
}

// report collects a problem at a node.
func (w *walker) report(n *yaml.Node, path, format string, args ...any) {
	w.add(n.Line, n.Column, path, fmt.Sprintf(format, args...))
}

var libraryError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// syntax collects an error of the YAML library, which knows the line at most.
func (w *walker) syntax(err error) {
	line, message := 1, err.Error()
	if m := libraryError.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	w.add(line, 1, "", "not valid YAML: "+strings.Join(strings.Fields(message), " "))
}

// plain refuses anchors, aliases, tags and deep nesting: nothing is expanded, so that no few bytes stand for many (B115).
func (w *walker) plain(n *yaml.Node, depth int) bool {
	before := len(w.problems)
	switch {
	case depth > depthMax:
		w.report(n, "", "nested deeper than %d levels", depthMax)
		return false
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		w.report(n, "", "anchors and aliases are not supported; write the value out")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		w.report(n, "", "tags are not supported; remove %s", clip(n.Tag))
	}
	for _, child := range n.Content {
		w.plain(child, depth+1)
	}
	return len(w.problems) == before
}

// mapping reads a mapping with the given fields. Unknown fields and repeated ones are reported (B112, B113).
func (w *walker) mapping(n *yaml.Node, path string, fields ...string) (mapping, bool) {
	if n.Kind != yaml.MappingNode {
		w.report(n, path, "want fields %s, got %s", strings.Join(fields, ", "), describe(n))
		return mapping{}, false
	}
	m := mapping{node: n, path: path, values: make(map[string]*yaml.Node, len(fields))}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || !slices.Contains(fields, key.Value) {
			w.report(key, path, "unknown field %s; want %s", describe(key), strings.Join(fields, ", "))
			continue
		}
		if m.values[key.Value] != nil {
			w.report(key, join(path, key.Value), "duplicate field")
			continue
		}
		m.values[key.Value] = value
	}
	return m, true
}

// field returns a field's node; a missing required one is reported at its mapping.
func (w *walker) field(m mapping, name string, required bool) (*yaml.Node, string, bool) {
	path := join(m.path, name)
	n, ok := m.values[name]
	if !ok && required {
		w.report(m.node, path, "required field is missing")
	}
	return n, path, ok
}

// text reads a string field; check says what is wrong with it.
func (w *walker) text(m mapping, name string, required bool, check func(string) string) string {
	n, path, ok := w.field(m, name, required)
	switch {
	case !ok:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		w.report(n, path, "want a string, got %s", describe(n))
	case n.Style == 0 && n.Tag != "!!str":
		w.report(n, path, "want a string, but YAML reads %s as something else; quote it: %s", clip(n.Value), quote(n.Value))
	default:
		if message := check(n.Value); message != "" {
			w.report(n, path, "%s", message)
			return ""
		}
		return n.Value
	}
	return ""
}

// integer reads a required whole number from 0 to high, written as a plain decimal literal (B116).
func (w *walker) integer(m mapping, name string, high int64) int64 {
	n, path, ok := w.field(m, name, true)
	if !ok {
		return 0
	}
	digits := n.Value
	v, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case n.Kind != yaml.ScalarNode || n.Style != 0 || digits == "" || strings.Trim(digits, "0123456789") != "":
		w.report(n, path, "want a whole number, got %s", describe(n))
	case len(digits) > 1 && digits[0] == '0':
		w.report(n, path, "want a whole number without leading zeros, got %s", quote(digits))
	case err != nil || v > high:
		w.report(n, path, "want a whole number from 0 to %d, got %s", high, quote(digits))
	}
	return v
}

// describe names a node's value for a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "no value"
	case n.Style != 0:
		return "the string " + quote(n.Value)
	default:
		return quote(n.Value)
	}
}

// join appends a field name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// quote renders a value for a message: quoted, escaped, clipped.
func quote(s string) string { return strconv.Quote(clip(s)) }

// clip shortens a value for a message.
func clip(s string) string {
	const runesMax = 48
	if utf8.RuneCountInString(s) <= runesMax {
		return s
	}
	return string([]rune(s)[:runesMax]) + "…"
}
