package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the version of the layout of snapshot.json and of the files it names.
const Version = 1

// ReadCommitted is the only isolation a history is exported with: aborted records are none (design section 3).
const ReadCommitted = "read_committed"

// Meta says what history a snapshot holds.
type Meta struct {
	// Namespace is the name of the namespace it was exported for.
	Namespace string `json:"namespace"`
	// NamespaceDigest and BusinessDigest are those of R01 and R02. The typed columns hold for these alone.
	NamespaceDigest string `json:"namespaceDigest"`
	BusinessDigest  string `json:"businessDigest"`
	// TopicID is the source topic's, as the broker gives it.
	TopicID string `json:"topicId"`
	// Starts are the first retained offsets and Ends the exclusive end offsets H, by partition.
	Starts []int64 `json:"starts"`
	Ends   []int64 `json:"ends"`
	// Isolation is ReadCommitted.
	Isolation string `json:"isolation"`
}

// File describes one Parquet file. Typed and raw files come in pairs of the same partition, offsets and rows.
type File struct {
	// Name is the file's name in the snapshot's folder.
	Name string `json:"name"`
	// Partition is the source partition of all its rows.
	Partition int32 `json:"partition"`
	// FirstOffset and LastOffset are those of its first and last row; offsets rise strictly between them.
	FirstOffset int64 `json:"firstOffset"`
	LastOffset  int64 `json:"lastOffset"`
	// Rows is the number of rows, at least 1.
	Rows int64 `json:"rows"`
	// SHA256 is the digest of the file's bytes in lower-case hexadecimal.
	SHA256 string `json:"sha256"`
}

// Index is the content of snapshot.json.
type Index struct {
	// Version is Version.
	Version int `json:"version"`
	Meta
	// Raw says that each typed file has a raw one. A generated history may have none.
	Raw bool `json:"raw"`
	// Files are sorted by partition, then by offset, a typed file before its raw one.
	Files []File `json:"files"`
	// SHA256 is the digest of the text of snapshot.json in which these 64 digits are zeros.
	SHA256 string `json:"sha256"`
}

// fileName is the name of the n-th file of a partition; kind is part or raw.
func fileName(kind string, partition int32, n int) string {
	return fmt.Sprintf("%s-%05d-%05d.parquet", kind, partition, n)
}

var (
	fileNames = regexp.MustCompile(`\A(part|raw)-[0-9]{5,}-[0-9]{5,}\.parquet\z`)
	digests   = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
)

// parseIndex reads and checks a snapshot.json.
func parseIndex(data []byte) (*Index, error) {
	var x Index
	if err := json.Unmarshal(data, &x, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if x.Version != Version {
		return nil, fmt.Errorf("layout version %d, this build reads %d", x.Version, Version)
	}
	if signed := sign(data); !bytes.Equal(signed, data) {
		return nil, errors.New("the file was changed: its own sha256 is not that of its text")
	}
	if err := x.complete(data); err != nil {
		return nil, err
	}
	if err := x.Meta.check(); err != nil {
		return nil, err
	}
	return &x, x.checkFiles()
}

// complete checks that a text says what was read from it, and so that no member is missing, null or spelt otherwise than it is
// written.
func (x *Index) complete(text []byte) error {
	again, err := json.Marshal(x)
	if err != nil {
		return err
	}
	read, said := jsontext.Value(again), jsontext.Value(bytes.Clone(text))
	if err := errors.Join(read.Canonicalize(), said.Canonicalize()); err != nil {
		return err
	}
	if !bytes.Equal(read, said) {
		return errors.New("a member is missing or null")
	}
	return nil
}

// render is the text of a snapshot.json.
func (x *Index) render() ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, x, jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return sign(b.Bytes()), nil
}

// own matches the digest of the text itself, its last member.
var own = regexp.MustCompile(`"sha256":\s*"([0-9a-f]{64}|)"\s*\}\s*\z`)

// sign returns the text of a snapshot.json with the digest that belongs to it. A text without the member is returned as it
// is, with a byte more.
func sign(text []byte) []byte {
	at := own.FindSubmatchIndex(text)
	if at == nil {
		return append(bytes.Clone(text), 0)
	}
	zeroed := slices.Concat(text[:at[2]], bytes.Repeat([]byte("0"), 64), text[at[3]:])
	sum := sha256.Sum256(zeroed)
	hex.Encode(zeroed[at[2]:], sum[:])
	return zeroed
}

// check looks for values that no export can have written.
func (m *Meta) check() error {
	if m.Isolation != ReadCommitted {
		return fmt.Errorf("isolation is %q, not %s", m.Isolation, ReadCommitted)
	}
	if !digests.MatchString(m.NamespaceDigest) || !digests.MatchString(m.BusinessDigest) {
		return errors.New("a digest is not 64 lower-case hexadecimal digits")
	}
	if len(m.Starts) == 0 || len(m.Starts) != len(m.Ends) {
		return fmt.Errorf("%d starts and %d ends", len(m.Starts), len(m.Ends))
	}
	for p, start := range m.Starts {
		if start < 0 || m.Ends[p] < start {
			return fmt.Errorf("partition %d has start %d and end %d", p, start, m.Ends[p])
		}
	}
	return nil
}

// extends checks that an export may go on where one with the earlier meta stopped.
func (m *Meta) extends(earlier *Meta) error {
	differs := func(what string, old, now any) error {
		return &MismatchError{What: what, Have: fmt.Sprint(old), Want: fmt.Sprint(now)}
	}
	switch {
	case m.BusinessDigest != earlier.BusinessDigest:
		return differs("business digest", earlier.BusinessDigest, m.BusinessDigest)
	case m.NamespaceDigest != earlier.NamespaceDigest:
		return differs("namespace digest", earlier.NamespaceDigest, m.NamespaceDigest)
	case m.Namespace != earlier.Namespace:
		return differs("namespace", earlier.Namespace, m.Namespace)
	case m.TopicID != earlier.TopicID:
		return differs("topic ID", earlier.TopicID, m.TopicID)
	case m.Isolation != earlier.Isolation:
		return differs("isolation", earlier.Isolation, m.Isolation)
	case !slices.Equal(m.Starts, earlier.Starts):
		return differs("start offsets", earlier.Starts, m.Starts)
	}
	for p, end := range m.Ends {
		if end < earlier.Ends[p] {
			return differs("end offsets", earlier.Ends, m.Ends)
		}
	}
	return nil
}

// MismatchError says that a folder holds the export of another history, which must not be mixed with this one.
type MismatchError struct {
	// What differs, with the folder's value and the wanted one.
	What, Have, Want string
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("it holds another history: its %s is %s, not %s", e.What, e.Have, e.Want)
}

// checkFiles checks that files come in pairs, in order, without overlap and inside starts and ends.
func (x *Index) checkFiles() error {
	next := slices.Clone(x.Starts)
	number := make([]int, len(x.Starts))
	partition := int32(0)
	each := 1
	if x.Raw {
		each = 2
	}
	if len(x.Files)%each != 0 {
		return errors.New("a typed or a raw file is missing")
	}
	for i := 0; i < len(x.Files); i += each {
		part, raw := x.Files[i], x.Files[i+each-1]
		p := part.Partition
		if p < partition || int(p) >= len(x.Starts) {
			return fmt.Errorf("file %q: partition %d is out of order or out of range", part.Name, p)
		}
		partition = p
		if part.Name != fileName(KindTyped, p, number[p]) || x.Raw && raw.Name != fileName(KindRaw, p, number[p]) {
			return fmt.Errorf("files %q and %q: want %s and its raw twin", part.Name, raw.Name, fileName(KindTyped, p, number[p]))
		}
		number[p]++
		twin := raw
		twin.Name, twin.SHA256 = part.Name, part.SHA256
		if twin != part {
			return fmt.Errorf("files %q and %q differ in partition, offsets or rows", part.Name, raw.Name)
		}
		if part.FirstOffset < next[p] || part.LastOffset >= x.Ends[p] || part.Rows < 1 || part.LastOffset-part.FirstOffset < part.Rows-1 {
			return fmt.Errorf("file %q: offsets %d to %d with %d rows do not fit", part.Name, part.FirstOffset, part.LastOffset, part.Rows)
		}
		next[p] = part.LastOffset + 1
		if !digests.MatchString(part.SHA256) || !digests.MatchString(raw.SHA256) {
			return fmt.Errorf("file %q: a digest is not 64 lower-case hexadecimal digits", part.Name)
		}
	}
	return nil
}
