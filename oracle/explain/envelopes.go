package explain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"amends.dev/amends/oracle/decode"
)

// envelope is the value of an output record, schemas/envelope.json.
type envelope struct {
	Cause         *Cause   `json:"cause"`
	Namespace     string   `json:"namespace"`
	OutputID      []string `json:"output_id"`
	Payload       *stated  `json:"payload"`
	SchemaVersion int      `json:"schema_version"`
	Source        struct {
		Partition int32  `json:"partition"`
		Offset    int64  `json:"offset"`
		TopicID   string `json:"topic_id"`
	} `json:"source"`
	Type    string `json:"type"`
	Version int64  `json:"version"`
}

// stated is the fact in an envelope: the members of all families.
type stated struct {
	Item      string  `json:"item"`
	Location  string  `json:"location"`
	Day       string  `json:"day"`
	Close     *int64  `json:"close"`
	Threshold *int64  `json:"threshold"`
	Status    string  `json:"status"`
	Conflicts []Cause `json:"conflicts"`
}

// Envelopes gathers the output versions of one key from the records of an output topic. It is not safe for concurrent
// use.
type Envelopes struct {
	namespace string
	brokerKey []byte
	versions  []Version
	// seen holds the position in versions of each distinct envelope, by its digest: bytes are not kept.
	seen map[[sha256.Size]byte]int
}

// NewEnvelopes returns an empty collection for a key of a namespace.
func NewEnvelopes(namespace string, name Name) *Envelopes {
	return &Envelopes{
		namespace: namespace, brokerKey: decode.BrokerKey(name.Item, name.Location), seen: map[[sha256.Size]byte]int{},
	}
}

// Partition is the output partition, of n, that holds the key's envelopes.
func (e *Envelopes) Partition(n int32) int32 { return decode.Partition(e.brokerKey, n) }

// Observe takes one output record; records of other keys pass by. The error names an envelope of this key that cannot be
// read.
func (e *Envelopes) Observe(partition int32, offset int64, key, value []byte) error {
	if !bytes.Equal(key, e.brokerKey) {
		return nil
	}
	digest := sha256.Sum256(value)
	if position, repeated := e.seen[digest]; repeated {
		e.versions[position].Copies++
		return nil
	}
	v, err := e.read(value)
	if err != nil {
		return fmt.Errorf("read the envelope at partition %d offset %d: %w", partition, offset, err)
	}
	v.Partition, v.Offset = partition, offset
	e.seen[digest] = len(e.versions)
	e.versions = append(e.versions, v)
	return nil
}

// read reads one envelope.
func (e *Envelopes) read(value []byte) (Version, error) {
	var from envelope
	if err := json.Unmarshal(value, &from, json.RejectUnknownMembers(true)); err != nil {
		return Version{}, err
	}
	family, day, err := outputID(from.OutputID)
	if err != nil {
		return Version{}, err
	}
	if from.Namespace != e.namespace {
		return Version{}, fmt.Errorf("it is of namespace %s", Plain(from.Namespace))
	}
	v := Version{
		Fact: Fact{Family: family, Day: day, Version: from.Version, Present: from.Payload != nil},
		Type: from.Type, Cause: from.Cause, SourcePartition: from.Source.Partition, SourceOffset: from.Source.Offset,
	}
	if p := from.Payload; p != nil {
		v.Close, v.Threshold, v.Status, v.Conflicts = p.Close, p.Threshold, p.Status, p.Conflicts
	}
	return v, nil
}

// outputID is the family and the day of an output ID (S7).
func outputID(id []string) (family, day string, err error) {
	switch {
	case len(id) == 5 && (id[1] == FamilyBalance || id[1] == FamilyAlert):
		return id[1], id[4], nil
	case len(id) == 4 && id[1] == "key-status":
		return FamilyStatus, "", nil
	}
	return "", "", fmt.Errorf("unknown output ID %q", id)
}

// Versions are what was gathered, sorted by day, family and version; statuses, which have no day, come first. rows, where
// not nil, are the key's rows in the view, and each version then says what became of it there: frontier is the view's
// exclusive position in the key's output partition at the moment at which the rows were read.
func (e *Envelopes) Versions(rows []Fact, frontier int64) []Version {
	out := append([]Version{}, e.versions...)
	slices.SortStableFunc(out, func(a, b Version) int {
		return cmp.Or(order(a.Fact, b.Fact), cmp.Compare(a.Version, b.Version))
	})
	if rows == nil {
		return out
	}
	for i := range out {
		out[i].InView = Awaited
		for _, row := range rows {
			if row.Family == out[i].Family && row.Day == out[i].Day {
				out[i].InView = judge(out[i].Fact, row)
			}
		}
		if out[i].InView == Awaited && out[i].Offset < frontier {
			out[i].InView = Lacking
		}
	}
	return out
}

// judge says what a view's row makes of a version.
func judge(v, row Fact) InView {
	switch {
	case row.Version > v.Version:
		return Passed
	case row.Version < v.Version:
		return Awaited
	case !row.equal(v):
		return Differs
	default:
		return Applied
	}
}

// equal compares content: two withdrawn facts are equal whatever they once were.
func (f Fact) equal(g Fact) bool {
	if f.Present != g.Present || !f.Present {
		return f.Present == g.Present
	}
	return same(f.Close, g.Close) && same(f.Threshold, g.Threshold) && f.Status == g.Status && slices.Equal(f.Conflicts, g.Conflicts)
}

// same compares optional integers.
func same(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// order sorts facts by day, then family.
func order(a, b Fact) int {
	return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(b.Family, a.Family))
}
