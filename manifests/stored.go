package manifests

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"amends.dev/amends/internal/mark"
)

// ErrSemanticsVersion is wrapped by FromSpec and New for a semantics version that this build does not implement; the
// caller refuses to touch the namespace (R03, exit code 5).
var ErrSemanticsVersion = errors.New("unsupported semantics version")

// New builds a namespace from values instead of YAML, by the same rules as Parse. Zero values of SemanticsVersion,
// Partitioner and MaxRecordBytes stand for their defaults. The stock keys are copied and sorted. The error is of type
// Problems, without positions, or wraps ErrSemanticsVersion.
func New(name string, spec Spec) (*Namespace, error) {
	if spec.SemanticsVersion == 0 {
		spec.SemanticsVersion = SemanticsVersion
	}
	if spec.SemanticsVersion != SemanticsVersion {
		return nil, fmt.Errorf("namespace %s: %w %d; this build implements %d", name, ErrSemanticsVersion, spec.SemanticsVersion, SemanticsVersion)
	}
	if spec.Source.Partitioner == "" {
		spec.Source.Partitioner = PartitionerMurmur2
	}
	if spec.Source.MaxRecordBytes == 0 {
		spec.Source.MaxRecordBytes = DefaultMaxRecordBytes
	}
	w := &walker{problems: &collector{}}
	fail := func(path, message string) {
		if message != "" {
			w.problems.add(Problem{Path: path, Message: message})
		}
	}
	fail("metadata.name", checkName(name))
	fail("spec.source.topic", checkTopic(spec.Source.Topic))
	fail("spec.source.partitions", checkCount(int64(spec.Source.Partitions), PartitionsMax))
	fail("spec.source.partitioner", checkOneOf(PartitionerMurmur2)(spec.Source.Partitioner))
	fail("spec.source.maxRecordBytes", checkCount(spec.Source.MaxRecordBytes, MaxRecordBytesMax))
	fail("spec.output.topic", checkTopic(spec.Output.Topic))
	fail("spec.output.topic", checkTopicsDiffer(spec.Source.Topic, spec.Output.Topic))
	fail("spec.output.partitions", checkCount(int64(spec.Output.Partitions), PartitionsMax))
	fail("spec.stockKeys", checkCount(int64(len(spec.StockKeys)), StockKeysMax))
	spec.StockKeys = w.checkKeys(spec.StockKeys)
	if err := w.problems.problems().Err(); err != nil {
		return nil, err
	}
	return &Namespace{Name: name, Spec: spec, index: newKeyIndex(spec.StockKeys)}, nil
}

// checkKeys returns a sorted copy of the keys and reports faults and repetitions.
func (w *walker) checkKeys(keys []StockKey) []StockKey {
	sorted := slices.Clone(keys)
	if !slices.IsSortedFunc(sorted, compareKeys) {
		slices.SortFunc(sorted, compareKeys)
	}
	for i, k := range sorted {
		for _, message := range []string{checkKeyPart(k.Item), checkKeyPart(k.Location)} {
			if message != "" {
				w.problems.add(Problem{Path: "spec.stockKeys", Message: "stock key " + quote(keyText(k)) + ": " + message})
			}
		}
		if i > 0 && compareKeys(sorted[i-1], k) == 0 {
			w.problems.add(Problem{Path: "spec.stockKeys", Message: "stock key " + keyText(k) + " is listed twice"})
		}
	}
	return sorted
}

// LedgerOriginText renders the ledger origin as RFC 3339 in UTC.
func (s Spec) LedgerOriginText() string { return formatInstant(s.LedgerOrigin) }

// SpecJSON renders the resolved spec without its stock keys as RFC 8785 JSON, every integer as a decimal string: what
// is stored of an applied namespace beside its keys.
func (n *Namespace) SpecJSON() []byte { return append(appendSpec(nil, n.Spec), '}') }

// storedSpec mirrors SpecJSON.
type storedSpec struct {
	LedgerOrigin     string `json:"ledgerOrigin"`
	SemanticsVersion string `json:"semanticsVersion"`
	Output           struct {
		Partitions string `json:"partitions"`
		Topic      string `json:"topic"`
	} `json:"output"`
	Source struct {
		MaxRecordBytes string `json:"maxRecordBytes"`
		Partitioner    string `json:"partitioner"`
		Partitions     string `json:"partitions"`
		Topic          string `json:"topic"`
	} `json:"source"`
}

// FromSpec rebuilds an applied namespace from what SpecJSON wrote, in any member order, and its stock keys in any
// order. Its digests equal those of the namespace that was stored. Errors are as New's, or say that the stored spec is
// unreadable.
func FromSpec(name string, specJSON []byte, keys []StockKey) (*Namespace, error) {
	var version struct {
		SemanticsVersion string `json:"semanticsVersion"`
	}
	if err := json.Unmarshal(specJSON, &version); err != nil {
		return nil, fmt.Errorf("namespace %s: read stored spec: %w", name, err)
	}
	if version.SemanticsVersion != strconv.Itoa(SemanticsVersion) { // its other members may be unknown here
		mark.Hit("R03 stored under another semantics version")
		return nil, fmt.Errorf("namespace %s: %w %s; this build implements %d", name, ErrSemanticsVersion, quote(version.SemanticsVersion), SemanticsVersion)
	}
	var stored storedSpec
	if err := json.Unmarshal(specJSON, &stored, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("namespace %s: read stored spec: %w", name, err)
	}
	var failed error
	integer := func(field, text string, bits int) int64 {
		v, err := strconv.ParseInt(text, 10, bits)
		if err != nil && failed == nil {
			failed = fmt.Errorf("namespace %s: read stored spec: %s: want a decimal string, got %s", name, field, quote(text))
		}
		return v
	}
	spec := Spec{
		SemanticsVersion: SemanticsVersion,
		LedgerOrigin:     integer("ledgerOrigin", stored.LedgerOrigin, 64),
		Source: Source{
			Topic:          stored.Source.Topic,
			Partitions:     int32(integer("source.partitions", stored.Source.Partitions, 32)),
			Partitioner:    stored.Source.Partitioner,
			MaxRecordBytes: integer("source.maxRecordBytes", stored.Source.MaxRecordBytes, 64),
		},
		Output:    Output{Topic: stored.Output.Topic, Partitions: int32(integer("output.partitions", stored.Output.Partitions, 32))},
		StockKeys: keys,
	}
	if failed != nil {
		return nil, failed
	}
	if spec.Source.MaxRecordBytes == 0 || spec.Source.Partitioner == "" {
		return nil, fmt.Errorf("namespace %s: read stored spec: %w", name, errIncompleteSpec)
	}
	return New(name, spec)
}

// errIncompleteSpec says that a stored spec lacks a value that a manifest may leave to its default.
var errIncompleteSpec = errors.New("a defaulted field is missing")

// Key IDs must fit int32; this does not compile otherwise.
const _ = uint(math.MaxInt32 - StockKeysMax)
