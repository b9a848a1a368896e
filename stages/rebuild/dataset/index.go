package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/go-json-experiment/json"

	"amends.dev/amends/stages/rebuild"
)

// version is the layout of derived.json that this build reads.
const version = 1

// indexName is the file that makes a folder a dataset.
const indexName = "derived.json"

// tables are the kinds of files, in the order of derived.json.
var tables = [...]string{tableAuthority, tableEvidence, tableConflict, tableDay, tableStatus, tableQuarantine}

const (
	tableAuthority  = "authority"
	tableEvidence   = "evidence"
	tableConflict   = "conflict"
	tableDay        = "day"
	tableStatus     = "status"
	tableQuarantine = "quarantine"
)

// File is one file as derived.json describes it.
type File struct {
	// Name is the file's in the folder of the dataset.
	Name string `json:"name"`
	// Table and Partition say which facts it holds.
	Table     string `json:"table"`
	Partition int32  `json:"partition"`
	// Rows is the number of rows, 0 or more.
	Rows int64 `json:"rows"`
	// SHA256 is the digest of its bytes in lower-case hexadecimal.
	SHA256 string `json:"sha256"`
}

// index is derived.json.
type index struct {
	Version        int     `json:"version"`
	BusinessDigest string  `json:"businessDigest"`
	TopicID        string  `json:"topicId"`
	Ends           []int64 `json:"ends"`
	Engine         string  `json:"engine"`
	Decoder        string  `json:"decoder"`
	Code           string  `json:"code"`
	Accepted       []int64 `json:"accepted"`
	Rejected       []int64 `json:"rejected"`
	Files          []File  `json:"files"`
}

var digests = regexp.MustCompile(`\A[0-9a-f]{64}\z`)

// readIndex reads and checks the derived.json of a folder.
func readIndex(dir string) (*index, error) {
	path := filepath.Join(dir, indexName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a dataset: %w", err)
	}
	var x index
	if err := json.Unmarshal(data, &x, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", rebuild.ErrDataset, path, err)
	}
	if err := x.check(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", rebuild.ErrDataset, path, err)
	}
	return &x, nil
}

// check looks for values that no writer can have written.
func (x *index) check() error {
	n := len(x.Ends)
	switch {
	case x.Version != version:
		return fmt.Errorf("layout version %d, this build reads %d", x.Version, version)
	case !digests.MatchString(x.BusinessDigest):
		return errors.New("the business digest is not 64 lower-case hexadecimal digits")
	case n == 0 || len(x.Accepted) != n || len(x.Rejected) != n || len(x.Files) != n*len(tables):
		return fmt.Errorf("%d ends, %d counts of accepted and %d of rejected records, %d files", n, len(x.Accepted), len(x.Rejected), len(x.Files))
	case x.Engine == "" || x.Decoder == "":
		return errors.New("it does not say what derived it")
	}
	for p := range x.Ends {
		if err := x.checkPartition(p, x.Files[p*len(tables):][:len(tables)]); err != nil {
			return err
		}
	}
	return nil
}

// checkPartition looks for such values in what is said of one partition.
func (x *index) checkPartition(p int, files []File) error {
	if x.Accepted[p] < 0 || x.Rejected[p] < 0 || x.Ends[p] < x.Accepted[p]+x.Rejected[p] {
		return fmt.Errorf("partition %d ends at %d with %d accepted and %d rejected records", p, x.Ends[p], x.Accepted[p], x.Rejected[p])
	}
	for i, f := range files {
		table := tables[i]
		if f.Table != table || int(f.Partition) != p || f.Name != fmt.Sprintf("%s-%05d.parquet", table, p) {
			return fmt.Errorf("file %q stands where %s of partition %d belongs", f.Name, table, p)
		}
		if f.Rows < 0 || !digests.MatchString(f.SHA256) {
			return fmt.Errorf("file %q has %d rows and the digest %q", f.Name, f.Rows, f.SHA256)
		}
		if table == tableQuarantine && f.Rows != x.Rejected[p] {
			return fmt.Errorf("file %q has %d rows for %d rejected records", f.Name, f.Rows, x.Rejected[p])
		}
	}
	return nil
}
