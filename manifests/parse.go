package manifests

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// Values of the two constant fields of a manifest.
const (
	// APIVersion is the only apiVersion.
	APIVersion = "amends.dev/v1"
	// KindNamespace is the only kind.
	KindNamespace = "Namespace"
)

// Parse reads one YAML manifest strictly (design section 4, B112-B120). file is the name for messages. readFile
// returns the bytes of the file that spec.stockKeysFrom names, relative to the manifest; nil where there is none to
// read from. Either a complete, defaulted, valid namespace or every problem found comes back. It never panics, and
// time and memory are bounded by the sizes of the two files: a manifest by ManifestBytesMax, a stock-key file of a
// million keys (33 MiB) takes two to three seconds and 190 MiB at the peak, the file included; 90 MiB are kept.
func Parse(file string, data []byte, readFile func(name string) ([]byte, error)) (*Namespace, Problems) {
	w := &walker{problems: &collector{file: file}, readFile: readFile}
	root := readDocument(w.problems, data)
	if root == nil {
		return nil, w.problems.problems()
	}
	ns := w.namespace(root)
	if problems := w.problems.problems(); len(problems) > 0 {
		return nil, problems
	}
	ns.index = newKeyIndex(ns.Spec.StockKeys)
	return ns, nil
}

// namespace walks the whole document. Its result is usable only if no problem was collected.
func (w *walker) namespace(root *yaml.Node) *Namespace {
	ns := &Namespace{}
	top, ok := w.mapping(root, "", "apiVersion", "kind", "metadata", "spec")
	if !ok {
		return ns
	}
	w.text(top, "apiVersion", true, checkOneOf(APIVersion))
	w.text(top, "kind", true, checkOneOf(KindNamespace))
	if n, path, ok := w.field(top, "metadata", true); ok {
		if metadata, ok := w.mapping(n, path, "name"); ok {
			ns.Name, _ = w.text(metadata, "name", true, checkName)
		}
	}
	if n, path, ok := w.field(top, "spec", true); ok {
		spec, ok := w.mapping(n, path, "semanticsVersion", "ledgerOrigin", "source", "output", "stockKeys", "stockKeysFrom")
		if ok {
			w.spec(spec, &ns.Spec)
		}
	}
	return ns
}

func (w *walker) spec(m mapping, spec *Spec) {
	w.semanticsVersion(m, spec)
	spec.LedgerOrigin = w.instant(m, "ledgerOrigin")
	if n, path, ok := w.field(m, "source", true); ok {
		if source, ok := w.mapping(n, path, "topic", "partitions", "partitioner", "maxRecordBytes"); ok {
			w.source(source, &spec.Source)
		}
	}
	if n, path, ok := w.field(m, "output", true); ok {
		if output, ok := w.mapping(n, path, "topic", "partitions"); ok {
			topic, ok := w.text(output, "topic", true, checkTopic)
			partitions, _ := w.integer(output, "partitions", true, 1, PartitionsMax)
			spec.Output = Output{Topic: topic, Partitions: int32(partitions)}
			if message := checkTopicsDiffer(spec.Source.Topic, topic); ok && message != "" {
				w.report(output.values["topic"], path+".topic", "%s", message)
			}
		}
	}
	w.stockKeys(m, spec)
}

func (w *walker) source(m mapping, source *Source) {
	*source = Source{Partitioner: PartitionerMurmur2, MaxRecordBytes: DefaultMaxRecordBytes}
	source.Topic, _ = w.text(m, "topic", true, checkTopic)
	partitions, _ := w.integer(m, "partitions", true, 1, PartitionsMax)
	source.Partitions = int32(partitions)
	w.text(m, "partitioner", false, checkOneOf(PartitionerMurmur2))
	if v, ok := w.integer(m, "maxRecordBytes", false, 1, MaxRecordBytesMax); ok {
		source.MaxRecordBytes = v
	}
}

// semanticsVersion marks a version of another build, which is no fault of the manifest (R03).
func (w *walker) semanticsVersion(m mapping, spec *Spec) {
	spec.SemanticsVersion = SemanticsVersion
	v, ok := w.integer(m, "semanticsVersion", false, 1, math.MaxInt32)
	if !ok || v == SemanticsVersion {
		return
	}
	n, path, _ := w.field(m, "semanticsVersion", false)
	w.problems.add(Problem{File: w.problems.file, Line: n.Line, Column: n.Column, Path: path, UnsupportedVersion: true,
		Message: fmt.Sprintf("this build implements semantics version %d only, got %d", SemanticsVersion, v)})
}

// stockKeys reads the keys from exactly one of the two places (design section 4).
func (w *walker) stockKeys(m mapping, spec *Spec) {
	inline, inlinePath, hasInline := w.field(m, "stockKeys", false)
	from, fromPath, hasFrom := w.field(m, "stockKeysFrom", false)
	switch {
	case hasInline && hasFrom:
		w.report(from, fromPath, "give either stockKeys or stockKeysFrom, not both")
		w.inlineKeys(inline, inlinePath)
	case hasInline:
		keys, ok := w.inlineKeys(inline, inlinePath)
		spec.StockKeys = w.sortKeys(keys, w.problems.file, ok)
	case hasFrom:
		keys, file, ok := w.keysFrom(from, fromPath)
		spec.StockKeys = w.sortKeys(keys, file, ok)
	default:
		w.report(m.node, inlinePath, "required field is missing: give stockKeys or stockKeysFrom")
	}
}

// inlineKeys reads spec.stockKeys, false where it is no list of at least one key. Keys with a fault are left out.
func (w *walker) inlineKeys(n *yaml.Node, path string) ([]locatedKey, bool) {
	if reported(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		w.report(n, path, "want a list of stock keys, got %s", describe(n))
		return nil, false
	}
	if len(n.Content) == 0 {
		w.report(n, path, "want at least one stock key")
		return nil, false
	}
	keys := make([]locatedKey, 0, len(n.Content))
	for i, child := range n.Content {
		m, ok := w.mapping(child, fmt.Sprintf("%s[%d]", path, i), keyFields...)
		if !ok {
			continue
		}
		item, okItem := w.text(m, "item", true, checkKeyPart)
		location, okLocation := w.text(m, "location", true, checkKeyPart)
		opening, _ := w.integer(m, "openingBalance", true, math.MinInt64, math.MaxInt64)
		threshold, _ := w.integer(m, "reorderThreshold", true, math.MinInt64, math.MaxInt64)
		if okItem && okLocation {
			keys = append(keys, locatedKey{
				StockKey: StockKey{Item: item, Location: location, OpeningBalance: opening, ReorderThreshold: threshold},
				path:     m.path, line: int32(child.Line), column: int32(child.Column)})
		}
	}
	return keys, true
}
