package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
)

// Set is a published dataset, read for one namespace. It is safe for concurrent use.
type Set struct {
	dir    string
	index  *index
	config *ledger.Config

	mu       sync.Mutex
	verified map[string]bool
}

var _ rebuild.Dataset = (*Set)(nil)

// Open reads the derived.json of a folder; the files it names are verified when they are used. The error wraps
// rebuild.ErrDataset where there is something else than a dataset, or fs.ErrNotExist where there is nothing.
func Open(dir string, config *ledger.Config) (*Set, error) {
	x, err := readIndex(dir)
	if err != nil {
		return nil, err
	}
	return &Set{dir: dir, index: x, config: config, verified: map[string]bool{}}, nil
}

// Begin returns a dataset whose partitions come one after the other, each complete, as Add is told of them. Counts in meta
// are not read.
func Begin(dir string, config *ledger.Config, meta rebuild.Meta) *Set {
	n := len(meta.Ends)
	x := &index{
		Version: version, BusinessDigest: meta.BusinessDigest, TopicID: meta.TopicID, Ends: meta.Ends, Engine: meta.Engine, Decoder: meta.Decoder,
		Code: meta.Code, Accepted: make([]int64, n), Rejected: make([]int64, n), Files: make([]File, n*len(tables)),
	}
	return &Set{dir: dir, index: x, config: config, verified: map[string]bool{}}
}

// Add takes over a partition: the counts of its records and its files, in the order of derived.json. It is called once for a
// partition, before that is read. The error wraps rebuild.ErrDataset.
func (s *Set) Add(partition int32, accepted, rejected int64, files []File) error {
	x := s.index
	if partition < 0 || int(partition) >= len(x.Ends) || len(files) != len(tables) {
		return fmt.Errorf("%w: partition %d of %d with %d files", rebuild.ErrDataset, partition, len(x.Ends), len(files))
	}
	x.Accepted[partition], x.Rejected[partition] = accepted, rejected
	if err := x.checkPartition(int(partition), files); err != nil {
		return fmt.Errorf("%w: %s: %w", rebuild.ErrDataset, s.dir, err)
	}
	copy(x.Files[int(partition)*len(tables):], files)
	return nil
}

// Remove removes the files of a partition, which is not read any more.
func (s *Set) Remove(partition int32) error {
	var errs []error
	for _, f := range s.index.Files[int(partition)*len(tables):][:len(tables)] {
		errs = append(errs, os.Remove(filepath.Join(s.dir, f.Name)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove partition %d of a dataset: %w", partition, err)
	}
	return nil
}

// Meta implements rebuild.Dataset.
func (s *Set) Meta() rebuild.Meta {
	x := s.index
	return rebuild.Meta{
		BusinessDigest: x.BusinessDigest, TopicID: x.TopicID, Ends: x.Ends, Engine: x.Engine, Decoder: x.Decoder, Code: x.Code,
		Accepted: x.Accepted, Rejected: x.Rejected,
	}
}

// Rows returns how many rows all tables have together.
func (s *Set) Rows() (n int64) {
	for i := range s.index.Files {
		n += s.index.Files[i].Rows
	}
	return n
}

// RowsOf returns how many rows all tables have together of one partition.
func (s *Set) RowsOf(partition int32) (n int64) {
	for _, f := range s.index.Files[int(partition)*len(tables):][:len(tables)] {
		n += f.Rows
	}
	return n
}

func (s *Set) describe(table string, partition int32) *File {
	for i := range tables {
		if f := &s.index.Files[int(partition)*len(tables)+i]; f.Table == table {
			return f
		}
	}
	return &File{Name: table} // no such table: there is no such file either
}

// rule judges the rows of one table in turn.
type rule struct {
	set       *Set
	partition int32
	last      position
	any       bool
}

func (s *Set) rule(partition int32) *rule { return &rule{set: s, partition: partition} }

// checked turns the rows of a file into those of the port, and ends with an error at the first that cannot be.
func checked[T, R any](seq iter.Seq2[*T, error], judge func(*T) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for row, err := range seq {
			var out R
			if err == nil {
				out, err = judge(row)
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// Authority implements rebuild.Dataset.
func (s *Set) Authority(ctx context.Context, partition int32) iter.Seq2[ledger.AuthorityRow, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableAuthority, partition, viewAuthority), r.authority)
}

// Evidence implements rebuild.Dataset.
func (s *Set) Evidence(ctx context.Context, partition int32) iter.Seq2[ledger.EvidenceRow, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableEvidence, partition, viewEvidence), r.evidence)
}

// Conflicts implements rebuild.Dataset.
func (s *Set) Conflicts(ctx context.Context, partition int32) iter.Seq2[rebuild.Conflict, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableConflict, partition, viewConflict), r.conflict)
}

// Days implements rebuild.Dataset.
func (s *Set) Days(ctx context.Context, partition int32) iter.Seq2[rebuild.Day, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableDay, partition, viewDay), r.day)
}

// Statuses implements rebuild.Dataset.
func (s *Set) Statuses(ctx context.Context, partition int32) iter.Seq2[rebuild.Status, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableStatus, partition, viewStatus), r.status)
}

// Quarantine implements rebuild.Dataset.
func (s *Set) Quarantine(ctx context.Context, partition int32) iter.Seq2[ledger.QuarantineRow, error] {
	r := s.rule(partition)
	return checked(rowsOf(ctx, s, tableQuarantine, partition, viewQuarantine), r.quarantine)
}
