package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ManifestBytesMax is the largest manifest that is parsed, in bytes. More stock keys than fit belong into the CSV
// file of spec.stockKeysFrom.
const ManifestBytesMax = 8 << 20

// depthMax bounds nesting; a valid manifest needs four levels.
const depthMax = 32

var byteOrderMark = []byte("\uFEFF")

// readDocument returns the root of the one document in data, or nil with the reason collected. Nothing is expanded:
// anchors, aliases and tags are faults, so that no few bytes can stand for many (B115).
func readDocument(c *collector, data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if p, bad := checkBytes(data); bad {
		p.File = c.file
		c.add(p)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	first, err := nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		c.add(Problem{File: c.file, Line: 1, Column: 1, Message: "the file is empty: it holds no manifest"})
		return nil
	}
	if err != nil {
		c.add(syntaxProblem(c.file, err))
		return nil
	}
	second, err := nextDocument(decoder)
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		c.add(syntaxProblem(c.file, err))
	default:
		c.add(Problem{File: c.file, Line: second.Line, Column: second.Column,
			Message: "second document: a manifest file holds exactly one"})
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		c.add(Problem{File: c.file, Line: 1, Column: 1, Message: "the file holds no manifest"})
		return nil
	}
	root := first.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
		c.add(Problem{File: c.file, Line: first.Line, Column: first.Column, Message: "the document is empty: it holds no manifest"})
		return nil
	}
	guard(c, root, 1)
	return root
}

// nextDocument decodes one document into nodes. The library panics on some odd input (B120); as a last resort that
// is an error here.
func nextDocument(decoder *yaml.Decoder) (node *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("unreadable: %v", r)
		}
	}()
	node = new(yaml.Node)
	if err := decoder.Decode(node); err != nil {
		return nil, err
	}
	return node, nil
}

// checkBytes finds what no manifest may contain, before the YAML library sees it.
func checkBytes(data []byte) (Problem, bool) {
	if len(data) > ManifestBytesMax {
		return Problem{Message: fmt.Sprintf(
			"the manifest is larger than %d bytes; put the stock keys into a CSV file with spec.stockKeysFrom",
			ManifestBytesMax)}, true
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return Problem{Line: 1, Column: 1, Message: "the file is UTF-16; save it as UTF-8"}, true
	}
	at, message := bytes.IndexFunc(data, isControl), ""
	switch {
	case at >= 0 && data[at] == 0:
		message = "byte 0x00; the file must be UTF-8 text"
	case at >= 0:
		message = fmt.Sprintf(`control character 0x%02x; write it as "\x%02x" within double quotes`, data[at], data[at])
	}
	if !utf8.Valid(data) {
		if bad := firstInvalid(data); at < 0 || bad < at {
			at, message = bad, fmt.Sprintf("byte 0x%02x is not valid UTF-8", data[bad])
		}
	}
	if at < 0 {
		return Problem{}, false
	}
	line := bytes.Count(data[:at], []byte("\n")) + 1
	column := utf8.RuneCount(data[bytes.LastIndexByte(data[:at], '\n')+1:at]) + 1
	return Problem{Line: line, Column: column, Message: message}, true
}

// isControl tells the ASCII control characters that YAML forbids in its text.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// firstInvalid returns the position of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

var (
	libraryError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	// parserError matches the messages that the library gives with a line counted from 0; all others count from 1.
	parserError = regexp.MustCompile(`^did not find expected (node content|key|<document start>|'-' indicator|',' or ['\]}]+)`)
)

// syntaxProblem turns an error of the YAML library, which knows the line but no column, into a problem.
func syntaxProblem(file string, err error) Problem {
	line, message := 1, err.Error()
	if m := libraryError.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
		if parserError.MatchString(message) && m[1] != "" {
			line++
		}
	}
	message = strings.Join(strings.Fields(message), " ")
	return Problem{File: file, Line: line, Column: 1, Message: "not valid YAML: " + message}
}

// guard reports anchors, aliases, tags and excessive nesting anywhere in the document.
func guard(c *collector, n *yaml.Node, depth int) {
	report := func(message string) {
		c.add(Problem{File: c.file, Line: n.Line, Column: n.Column, Message: message})
	}
	if depth > depthMax {
		report(fmt.Sprintf("nested deeper than %d levels", depthMax))
		return
	}
	switch {
	case n.Kind == yaml.AliasNode:
		report("aliases are not supported; write the value out")
		return
	case n.Anchor != "":
		report("anchors are not supported; remove &" + clip(n.Anchor))
	}
	if n.Style&yaml.TaggedStyle != 0 {
		report("tags are not supported; remove " + clip(n.Tag))
	}
	for _, child := range n.Content {
		guard(c, child, depth+1)
	}
}
