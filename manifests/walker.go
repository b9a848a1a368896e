package manifests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// walker reads typed values out of YAML nodes and collects what is wrong with them. Its readers return false where
// the value cannot be used; the reason has been collected then.
type walker struct {
	problems *collector
	readFile func(name string) ([]byte, error)
}

// mapping is one YAML mapping whose fields are all known and occur once.
type mapping struct {
	node   *yaml.Node
	path   string
	values map[string]*yaml.Node
}

// report collects a problem at a node.
func (w *walker) report(n *yaml.Node, path, format string, args ...any) {
	w.problems.add(Problem{File: w.problems.file, Line: n.Line, Column: n.Column, Path: path,
		Message: fmt.Sprintf(format, args...)})
}

// mapping reads a mapping with the given fields. Unknown fields and repeated ones are reported (B112, B113).
func (w *walker) mapping(n *yaml.Node, path string, fields ...string) (mapping, bool) {
	if reported(n) {
		return mapping{}, false
	}
	if n.Kind != yaml.MappingNode {
		w.report(n, path, "want fields %s, got %s", strings.Join(fields, ", "), describe(n))
		return mapping{}, false
	}
	m := mapping{node: n, path: path, values: make(map[string]*yaml.Node, len(fields))}
	seen := make(map[string]int, len(fields))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			if key.Kind != yaml.AliasNode {
				w.report(key, path, "want a field name, got %s", describe(key))
			}
			continue
		}
		at := join(path, key.Value)
		if line, again := seen[key.Value]; again {
			w.report(key, at, "duplicate field, first set on line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		if !slices.Contains(fields, key.Value) {
			w.report(key, at, "unknown field%s", didYouMean(key.Value, fields))
			continue
		}
		m.values[key.Value] = value
	}
	return m, true
}

// field returns a field's node; a missing required one is reported at its mapping (B118).
func (w *walker) field(m mapping, name string, required bool) (*yaml.Node, string, bool) {
	path := join(m.path, name)
	n, ok := m.values[name]
	if !ok {
		if required {
			w.report(m.node, path, "required field is missing")
		}
		return nil, path, false
	}
	return n, path, true
}

// text reads a string field. A plain scalar that YAML reads as a number, boolean, null or time is refused, not
// converted: 007 would become 7.
func (w *walker) text(m mapping, name string, required bool, check func(string) string) (string, bool) {
	n, path, ok := w.field(m, name, required)
	if !ok || reported(n) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		w.report(n, path, "want a string, got %s", describe(n))
		return "", false
	}
	if other := readsAs(n); other != "" {
		w.report(n, path, "want a string, but YAML reads %s as %s; quote it: %s",
			clip(n.Value), other, strconv.Quote(clip(n.Value)))
		return "", false
	}
	if message := check(n.Value); message != "" {
		w.report(n, path, "%s", message)
		return "", false
	}
	return n.Value, true
}

// integer reads a whole number within [low, high], written as a plain decimal literal (B116).
func (w *walker) integer(m mapping, name string, required bool, low, high int64) (int64, bool) {
	n, path, ok := w.field(m, name, required)
	if !ok || reported(n) {
		return 0, false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		w.report(n, path, "want a whole number, got %s", describe(n))
		return 0, false
	}
	if n.Style != 0 {
		w.report(n, path, "want a whole number, got the string %s; remove the quotes", quote(n.Value))
		return 0, false
	}
	v, message := parseInteger(n.Value, low, high)
	if message != "" {
		w.report(n, path, "%s", message)
		return 0, false
	}
	return v, true
}

// instant reads a required instant, quoted or plain: what is no number, boolean or null cannot be mistaken.
func (w *walker) instant(m mapping, name string) int64 {
	n, path, ok := w.field(m, name, true)
	if !ok || reported(n) {
		return 0
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		w.report(n, path, "want an instant such as 2026-01-01T00:00:00Z, got %s", describe(n))
		return 0
	}
	ns, err := parseInstant(n.Value)
	if err != nil {
		w.report(n, path, "%v", err)
	}
	return ns
}

// readsAs says what other than a string a YAML reader, of 1.1 or 1.2, makes of a plain scalar; "" for a string.
func readsAs(n *yaml.Node) string {
	if n.Style != 0 {
		return ""
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a time"
	case "!!merge":
		return "a merge key"
	}
	switch strings.ToLower(n.Value) {
	case "y", "yes", "n", "no", "on", "off":
		return "a boolean"
	}
	if isSexagesimal(n.Value) {
		return "a number"
	}
	return ""
}

// isSexagesimal recognises the base-60 numbers of YAML 1.1, such as 12:30.
func isSexagesimal(s string) bool {
	groups := strings.Split(strings.TrimLeft(s, "+-"), ":")
	if len(groups) < 2 || groups[0] == "" || groups[0][0] < '0' || groups[0][0] > '9' {
		return false
	}
	for _, group := range groups {
		if group == "" || strings.Trim(group, "0123456789_.") != "" {
			return false
		}
	}
	return true
}

// reported tells nodes that guard has already refused.
func reported(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0
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
	default:
		return quote(n.Value)
	}
}

// join appends a field name to a path; an odd name is quoted so that the message stays one line.
func join(path, name string) string {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return path + "[" + quote(name) + "]"
		}
	}
	if path == "" {
		return clip(name)
	}
	return path + "." + clip(name)
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
