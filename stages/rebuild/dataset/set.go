package dataset

import (
	"context"
	"iter"
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

func (s *Set) describe(table string, partition int32) *description {
	for i := range tables {
		if f := &s.index.Files[int(partition)*len(tables)+i]; f.Table == table {
			return f
		}
	}
	return &description{Name: table} // no such table: there is no such file either
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
	return checked(rowsOf[authorityColumns](ctx, s, tableAuthority, partition), r.authority)
}

// Evidence implements rebuild.Dataset.
func (s *Set) Evidence(ctx context.Context, partition int32) iter.Seq2[ledger.EvidenceRow, error] {
	r := s.rule(partition)
	return checked(rowsOf[evidenceColumns](ctx, s, tableEvidence, partition), r.evidence)
}

// Conflicts implements rebuild.Dataset.
func (s *Set) Conflicts(ctx context.Context, partition int32) iter.Seq2[rebuild.Conflict, error] {
	r := s.rule(partition)
	return checked(rowsOf[conflictColumns](ctx, s, tableConflict, partition), r.conflict)
}

// Days implements rebuild.Dataset.
func (s *Set) Days(ctx context.Context, partition int32) iter.Seq2[rebuild.Day, error] {
	r := s.rule(partition)
	return checked(rowsOf[dayColumns](ctx, s, tableDay, partition), r.day)
}

// Statuses implements rebuild.Dataset.
func (s *Set) Statuses(ctx context.Context, partition int32) iter.Seq2[rebuild.Status, error] {
	r := s.rule(partition)
	return checked(rowsOf[statusColumns](ctx, s, tableStatus, partition), r.status)
}

// Quarantine implements rebuild.Dataset.
func (s *Set) Quarantine(ctx context.Context, partition int32) iter.Seq2[ledger.QuarantineRow, error] {
	r := s.rule(partition)
	return checked(rowsOf[quarantineColumns](ctx, s, tableQuarantine, partition), r.quarantine)
}
