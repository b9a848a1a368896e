package diagnostics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"amends.dev/amends/manifests"
)

// BytesMax is the largest file that is read, in bytes.
const BytesMax = 64 << 20

// The bounds of names and topic IDs, in bytes.
const (
	nameBytesMax    = 253
	topicIDBytesMax = 64
)

// The reasons of entries that have a payload. Those of rejections are the ones of schemas/reasons.json.
const (
	// Ambiguous is the reason of each payload of a conflict that blocks its key.
	Ambiguous = "ambiguous_conflict"
	// Superseded is the reason of each payload of a conflict below the highest revision of its identity.
	Superseded = "superseded_conflict"
)

var hexDigest = regexp.MustCompile(`\A[0-9a-f]{64}\z`)

// Parse reads a file of expected diagnostics; name stands for it in errors. The error of a faulty file is
// manifests.Problems: every fault with its line, column and field, all of them in one run.
func Parse(name string, data []byte) (*File, error) {
	reasons, err := rejections()
	if err != nil {
		return nil, err
	}
	w := &walker{file: name}
	root := w.document(data)
	f := &File{}
	if root != nil {
		w.read(root, f, reasons)
	}
	if err := w.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(f.Entries, Order)
	return f, nil
}

// read reads the one mapping of a file.
func (w *walker) read(root *yaml.Node, f *File, reasons []string) {
	m, ok := w.mapping(root, "", "apiVersion", "kind", "metadata", "spec")
	if !ok {
		return
	}
	w.text(m, "apiVersion", true, only(APIVersion))
	w.text(m, "kind", true, only(Kind))
	if n, path, ok := w.field(m, "metadata", true); ok {
		if metadata, ok := w.mapping(n, path, "name"); ok {
			f.Name = w.text(metadata, "name", true, atMost(nameBytesMax))
		}
	}
	n, path, ok := w.field(m, "spec", true)
	if !ok {
		return
	}
	spec, ok := w.mapping(n, path, "topicId", "entries")
	if !ok {
		return
	}
	f.TopicID = w.text(spec, "topicId", false, atMost(topicIDBytesMax))
	list, path, ok := w.field(spec, "entries", true)
	if !ok {
		return
	}
	if list.Kind != yaml.SequenceNode {
		w.report(list, path, "want a list of entries, got %s", describe(list))
		return
	}
	seen := map[Entry]int{}
	for i, n := range list.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		e, ok := w.entry(n, at, reasons)
		if !ok {
			continue
		}
		if line, again := seen[e]; again {
			w.report(n, at, "the same entry as on line %d", line)
			continue
		}
		seen[e] = n.Line
		f.Entries = append(f.Entries, e)
	}
}

// entry reads one entry.
func (w *walker) entry(n *yaml.Node, path string, reasons []string) (Entry, bool) {
	before := len(w.problems)
	m, ok := w.mapping(n, path, "partition", "offset", "reason", "fingerprint", "payload")
	if !ok {
		return Entry{}, false
	}
	e := Entry{
		Partition: int32(w.integer(m, "partition", math.MaxInt32)),
		Offset:    w.integer(m, "offset", math.MaxInt64),
	}
	e.Reason = w.text(m, "reason", true, func(s string) string {
		if s == Ambiguous || s == Superseded || slices.Contains(reasons, s) {
			return ""
		}
		return fmt.Sprintf("unknown reason %s; want one of %s, %s, %s", quote(s), strings.Join(reasons, ", "), Ambiguous, Superseded)
	})
	e.Fingerprint = w.text(m, "fingerprint", true, func(s string) string {
		if hexDigest.MatchString(s) {
			return ""
		}
		return fmt.Sprintf("want a SHA-256 as 64 lower-case hexadecimal digits, got %s", quote(s))
	})
	conflict := e.Reason == Ambiguous || e.Reason == Superseded
	e.Payload = w.text(m, "payload", conflict, func(string) string { return "" })
	if len(w.problems) > before {
		return e, false
	}
	switch given := m.values["payload"]; {
	case given != nil && !conflict:
		w.report(given, path+".payload", "a rejection has no canonical payload; only %s and %s have one", Ambiguous, Superseded)
	case conflict && PayloadFingerprint(e.Payload) != e.Fingerprint:
		w.report(m.values["fingerprint"], path+".fingerprint", "this is not the SHA-256 of the payload; that is %s", PayloadFingerprint(e.Payload))
	}
	return e, len(w.problems) == before
}

// only accepts one text.
func only(want string) func(string) string {
	return func(s string) string {
		if s == want {
			return ""
		}
		return fmt.Sprintf("want %s, got %s", want, quote(s))
	}
}

// atMost accepts texts that are not empty and not longer than a number of bytes.
func atMost(n int) func(string) string {
	return func(s string) string {
		if s != "" && len(s) <= n {
			return ""
		}
		return fmt.Sprintf("want 1 to %d bytes, got %d", n, len(s))
	}
}

// document returns the root of the one document in data, or nil with the reason collected.
func (w *walker) document(data []byte) *yaml.Node {
	if len(data) > BytesMax {
		w.add(0, 0, "", fmt.Sprintf("the file is larger than %d bytes", BytesMax))
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	first, err := next(decoder)
	if errors.Is(err, io.EOF) {
		w.add(1, 1, "", "the file is empty: it holds no expected diagnostics")
		return nil
	}
	if err != nil {
		w.syntax(err)
		return nil
	}
	switch second, err := next(decoder); {
	case errors.Is(err, io.EOF):
	case err != nil:
		w.syntax(err)
	default:
		w.report(second, "", "second document: a file holds exactly one")
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		w.add(1, 1, "", "the file holds no expected diagnostics")
		return nil
	}
	if root := first.Content[0]; w.plain(root, 1) {
		return root
	}
	return nil
}

// next decodes one document into nodes. The library panics on some odd input (B120); that is an error here.
func next(decoder *yaml.Decoder) (node *yaml.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			node, err = nil, fmt.Errorf("unreadable: %v", cause)
		}
	}()
	node = new(yaml.Node)
	return node, decoder.Decode(node)
}

// err is everything that was collected, as manifests.Problems; nil for nothing.
func (w *walker) err() error { return manifests.Problems(w.problems).Err() }
