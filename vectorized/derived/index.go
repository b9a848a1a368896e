package derived

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the version of the layout of derived.json and of the files it names.
const Version = 1

// IndexName is the file that makes a folder a dataset.
const IndexName = "derived.json"

// Table names one kind of facts.
type Table string

// The tables, each with a file for every source partition, empty ones included.
const (
	// TableAuthority holds the highest revision of every identity.
	TableAuthority Table = "authority"
	// TableEvidence holds every other distinct payload.
	TableEvidence Table = "evidence"
	// TableConflict holds every revision with two or more distinct payloads.
	TableConflict Table = "conflict"
	// TableDay holds the activity days of the keys that are not BLOCKED.
	TableDay Table = "day"
	// TableStatus holds every key that has an accepted record.
	TableStatus Table = "status"
	// TableQuarantine holds every rejected record.
	TableQuarantine Table = "quarantine"
)

// Meta says what history a dataset is derived from, for which configuration, and by what.
type Meta struct {
	// BusinessDigest is that of the configuration it holds for (R02).
	BusinessDigest string `json:"businessDigest"`
	// TopicID is the source topic's, as the broker gives it.
	TopicID string `json:"topicId"`
	// Ends are the exclusive end offsets H of the history, by partition; it begins at offset 0.
	Ends []int64 `json:"ends"`
	// Engine, Decoder and Code say what computed it: names, and the version of the program.
	Engine  string `json:"engine"`
	Decoder string `json:"decoder"`
	Code    string `json:"code"`
}

// File describes one Parquet file.
type File struct {
	// Name is the file's name in the dataset's folder.
	Name string `json:"name"`
	// Table and Partition say which facts it holds.
	Table     Table `json:"table"`
	Partition int32 `json:"partition"`
	// Rows is the number of rows, 0 or more.
	Rows int64 `json:"rows"`
	// SHA256 is the digest of the file's bytes in lower-case hexadecimal.
	SHA256 string `json:"sha256"`
}

// Index is the content of derived.json.
type Index struct {
	// Version is Version.
	Version int `json:"version"`
	Meta
	// Accepted and Rejected count the records of each partition; duplicates and stale ones are accepted.
	Accepted []int64 `json:"accepted"`
	Rejected []int64 `json:"rejected"`
	// Files are sorted by partition, then in the order of the tables above.
	Files []File `json:"files"`
}

// fileName is the name of a table's file of a partition.
func fileName(table Table, partition int32) string {
	return fmt.Sprintf("%s-%05d.parquet", table, partition)
}

// render is the text of a derived.json.
func (x *Index) render() ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, x, jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
