package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// nodeKind is the type of a JSON value.
type nodeKind string

const (
	objectNode nodeKind = "object"
	arrayNode  nodeKind = "array"
	stringNode nodeKind = "string"
	numberNode nodeKind = "number"
	otherNode  nodeKind = "true, false or null"
)

// node is one JSON value, its members in document order and repeated ones kept.
type node struct {
	kind     nodeKind
	text     string // of a string, unescaped; of a number, as written
	names    []string
	children []*node
}

// maxDepth is the deepest nesting of objects and arrays (R05); the record itself is depth 1.
const maxDepth = 64

// errNotJSON says that a value is not JSON as we take it.
var errNotJSON = errors.New("not JSON: syntax, UTF-8, a lone surrogate, trailing data or depth")

// parse builds the tree of a value. encoding/json tolerates invalid UTF-8, lone surrogates and great depth, so these
// are looked for before.
func parse(value []byte) (*node, error) {
	if !utf8.Valid(value) || !json.Valid(value) || hasLoneSurrogate(value) || depth(value) > maxDepth {
		return nil, errNotJSON
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	return read(decoder)
}

// read takes one value off the decoder.
func read(decoder *json.Decoder) (*node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		return &node{kind: stringNode, text: token}, nil
	case json.Number:
		return &node{kind: numberNode, text: token.String()}, nil
	case json.Delim:
		return readNested(decoder, token)
	}
	return &node{kind: otherNode}, nil
}

// readNested takes the rest of an object or array off the decoder, its opening bracket taken already.
func readNested(decoder *json.Decoder, opening json.Delim) (*node, error) {
	n := &node{kind: arrayNode}
	if opening == '{' {
		n.kind = objectNode
	}
	for decoder.More() {
		if n.kind == objectNode {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, ok := token.(string)
			if !ok {
				return nil, errNotJSON
			}
			n.names = append(n.names, name)
		}
		child, err := read(decoder)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	_, err := decoder.Token() // the closing bracket
	return n, err
}

// member returns the first member of that name, nil if there is none.
func (n *node) member(name string) *node {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.children[i]
	}
	return nil
}

// hasAll reports whether no name of wanted is missing.
func (n *node) hasAll(wanted []string) bool {
	for _, name := range wanted {
		if n.member(name) == nil {
			return false
		}
	}
	return true
}

// hasOtherThan reports whether a member is none of the allowed.
func (n *node) hasOtherThan(allowed []string) bool {
	for _, name := range n.names {
		if !slices.Contains(allowed, name) {
			return true
		}
	}
	return false
}

// hasDuplicates reports whether a name occurs twice in one object, at any depth.
func (n *node) hasDuplicates() bool {
	seen := make(map[string]bool)
	for _, name := range n.names {
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return slices.ContainsFunc(n.children, (*node).hasDuplicates)
}

// inStrings calls visit for every byte of a valid JSON text with whether it is inside a string; an escape sequence is
// one call, at its backslash.
func inStrings(value []byte, visit func(at int, inside bool)) {
	inside := false
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '"':
			inside = !inside
		case value[i] == '\\':
			visit(i, true)
			i++ // the escaped character is never a closing quote
		default:
			visit(i, inside)
		}
	}
}

// depth is the greatest number of objects and arrays open at once in a valid JSON text.
func depth(value []byte) int {
	open, deepest := 0, 0
	inStrings(value, func(at int, inside bool) {
		if inside {
			return
		}
		switch value[at] {
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	})
	return deepest
}

// hasLoneSurrogate reports whether a valid JSON text escapes a UTF-16 surrogate that is not half of a pair.
func hasLoneSurrogate(value []byte) bool {
	lone, pending := false, -1 // pending is where the low half of a pair must stand
	inStrings(value, func(at int, _ bool) {
		if value[at] != '\\' || value[at+1] != 'u' {
			return
		}
		unit := codeUnit(value[at+2 : at+6])
		switch {
		case !utf16.IsSurrogate(unit):
		case unit < 0xDC00: // a high half: look at what follows it
			if !lowHalfAt(value, at+6) {
				lone = true
			}
			pending = at + 6
		case pending != at:
			lone = true
		}
	})
	return lone
}

// lowHalfAt reports whether an escaped low half stands at a position.
func lowHalfAt(value []byte, at int) bool {
	if at+6 > len(value) || value[at] != '\\' || value[at+1] != 'u' {
		return false
	}
	unit := codeUnit(value[at+2 : at+6])
	return unit >= 0xDC00 && unit <= 0xDFFF
}

// codeUnit is the value of four hex digits.
func codeUnit(digits []byte) rune {
	unit, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil { // cannot happen in a valid JSON text
		return utf8.RuneError
	}
	return rune(unit)
}
