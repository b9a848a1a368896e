package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

// spool keeps histories of a topic, whose rows the columnar engine has no memory for, in a temporary snapshot: typed columns
// can be read several times over. The naive engine has no bound, and is for histories that need none.
type spool struct {
	// memory bounds the rows held at a time, in bytes; 0: no bound is known.
	memory int64
	// note is told where a history is kept.
	note func(text string)
}

var _ verify.Spool = spool{}

// diskPerRecord is what a record takes on disk at most, in bytes, unless it is larger than usual.
const diskPerRecord = 150

// Keep implements verify.Spool.
func (s spool) Keep(ctx context.Context, judge engine.Engine, a *verify.Applied, r boundary.Range, history engine.History) (*verify.Snapshot, func() error, error) {
	var most int64 // records: positions of markers and aborted ones are counted too
	for p := range r.To {
		most += r.To[p] - r.From[p]
	}
	if _, columnar := judge.(arrow.Engine); !columnar || s.memory <= 0 || most*vectorized.RowBytes <= s.memory {
		return nil, nil, nil
	}
	dir, err := os.MkdirTemp("", "amends-verify-")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the history on disk: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	s.note(fmt.Sprintf("up to %d records do not fit into --memory: they are kept in %s until the end, usually in less than %d MB",
		most, dir, max(1, most*diskPerRecord/1_000_000)))
	kept, err := s.copy(ctx, filepath.Join(dir, "history"), a, r, history)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("keep the history on disk: %w", err), remove())
	}
	return kept, remove, nil
}

// copy writes a history as a snapshot and opens it.
func (s spool) copy(ctx context.Context, dir string, a *verify.Applied, r boundary.Range, history engine.History) (*verify.Snapshot, error) {
	w, err := snapshot.Create(dir, a.Namespace, snapshot.Meta{
		Namespace: a.Name, NamespaceDigest: a.Digest, BusinessDigest: a.BusinessDigest,
		TopicID: r.TopicID, Starts: r.From, Ends: r.To, Isolation: snapshot.ReadCommitted,
	})
	if err != nil {
		return nil, err
	}
	var one [1]engine.Record
	for record, failed := range history(ctx) {
		if err = failed; err != nil {
			break
		}
		one[0] = record
		if err = w.Append(one[:]); err != nil {
			break
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	set, err := snapshot.Open(dir)
	if err != nil {
		return nil, err
	}
	raw, err := set.Raw()
	if err != nil {
		return nil, err
	}
	return asSnapshot(dir, set, raw, s.memory), nil
}
