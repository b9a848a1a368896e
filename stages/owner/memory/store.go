// Package memory is a durable owner's store in memory, for tests, for the conformance run, and for whoever writes another
// store and wants to see what one has to do. What it keeps is on a Disk, which outlives the Store, as a database outlives
// the process: a Store that crashed is opened anew over the same Disk.
package memory

import (
	"context"
	"errors"
	"strings"
	"sync"

	"amends.dev/amends/stages/owner"
)

// ErrCrashed is returned by a store from the moment on at which it was made to crash.
var ErrCrashed = errors.New("the process of this store has crashed")

// Disk is what survives: every committed transaction, in order. It is safe for concurrent use by several stores, which
// see each other's transactions.
type Disk struct {
	mu  sync.Mutex
	log [][]*owner.Changes
}

// NewDisk is an empty disk.
func NewDisk() *Disk { return &Disk{} }

// Store implements owner.Store over a Disk. It is safe for concurrent use.
type Store struct {
	disk *Disk
	// Everything below is guarded by the disk's lock, which is the transaction: there is one at a time.
	// read is how much of the disk's log is in owners.
	read   int
	owners map[string]*kept
	// pending and latest are in the order in which they became pending.
	pending []ref
	latest  []string
	// crashing says that the next transaction with anything to write ends in a crash before it is durable.
	crashing, crashed bool
}

// ref names an effect.
type ref struct{ ownerID, effectID string }

// New is a store over a disk of its own.
func New() *Store { return Open(NewDisk()) }

// Open is the store as a process sees it that has just started: everything is read from the disk.
func Open(disk *Disk) *Store { return &Store{disk: disk, owners: map[string]*kept{}} }

// CrashBeforeCommit makes the next transaction die after it was decided and before anything of it is durable. Its call
// and all later ones return ErrCrashed.
func (s *Store) CrashBeforeCommit() {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.crashing = true
}

// transaction runs f on what is durable now, and makes what it changes durable at once.
func (s *Store) transaction(ctx context.Context, f func() []*owner.Changes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	s.catchUp()
	changes := f()
	if s.crashing {
		s.crashed = true
		return ErrCrashed
	}
	if len(changes) > 0 {
		s.disk.log = append(s.disk.log, changes)
		s.catchUp()
	}
	return nil
}

// catchUp applies what other stores have made durable.
func (s *Store) catchUp() {
	for ; s.read < len(s.disk.log); s.read++ {
		for _, c := range s.disk.log[s.read] {
			s.apply(c)
		}
	}
}

// one runs a transaction of one request about one owner.
func (s *Store) one(ctx context.Context, wanted owner.Wanted, request func(g *owner.Group) owner.Result) (result owner.Result, err error) {
	err = s.transaction(ctx, func() []*owner.Changes {
		g := owner.NewGroup(s.load(wanted))
		result = request(g)
		return g.Changes()
	})
	if err != nil {
		return owner.Result{}, err
	}
	return result, nil
}

// Create implements owner.Store.
func (s *Store) Create(ctx context.Context, ownerID string, config owner.Config) (owner.Result, error) {
	return s.one(ctx, owner.WantOwner(ownerID), func(g *owner.Group) owner.Result { return g.Create(ownerID, &config) })
}

// AdvanceFence implements owner.Store.
func (s *Store) AdvanceFence(ctx context.Context, ownerID string, fence uint64) (owner.Result, error) {
	return s.one(ctx, owner.WantOwner(ownerID), func(g *owner.Group) owner.Result { return g.AdvanceFence(ownerID, fence) })
}

// RecordReceipt implements owner.Store.
func (s *Store) RecordReceipt(ctx context.Context, ownerID string, fence uint64, receipt owner.Receipt) (owner.Result, error) {
	return s.one(ctx, owner.WantReceipt(ownerID, &receipt), func(g *owner.Group) owner.Result {
		return g.RecordReceipt(ownerID, fence, &receipt)
	})
}

// Commit implements owner.Store.
func (s *Store) Commit(ctx context.Context, commits ...owner.Commit) ([]owner.Result, error) {
	var results []owner.Result
	err := s.transaction(ctx, func() []*owner.Changes {
		var loaded []*owner.Loaded
		for _, wanted := range owner.Want(commits...) {
			loaded = append(loaded, s.load(wanted))
		}
		g := owner.NewGroup(loaded...)
		for i := range commits {
			results = append(results, g.Commit(&commits[i]))
		}
		return g.Changes()
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Image implements owner.Store.
func (s *Store) Image(ctx context.Context, ownerID string) (image *owner.Image, err error) {
	err = s.transaction(ctx, func() []*owner.Changes {
		if k := s.owners[ownerID]; k != nil {
			image = k.image()
		}
		return nil
	})
	return image, err
}

// Pending implements owner.Store.
func (s *Store) Pending(ctx context.Context, prefix string, limit int) (list []owner.Pending, err error) {
	err = s.transaction(ctx, func() []*owner.Changes {
		for _, r := range s.pending {
			if len(list) < limit && strings.HasPrefix(r.effectID, prefix) {
				k := s.owners[r.ownerID]
				list = append(list, owner.Pending{
					OwnerID: r.ownerID, Position: k.row.Position, Fence: k.row.Fence, Effect: cloneEffect(k.effects[r.effectID].Effect),
				})
			}
		}
		return nil
	})
	return list, err
}

// CountPending implements owner.Store.
func (s *Store) CountPending(ctx context.Context, prefix string, limit int) (n int, err error) {
	err = s.transaction(ctx, func() []*owner.Changes {
		for _, r := range s.pending {
			if n < limit && strings.HasPrefix(r.effectID, prefix) {
				n++
			}
		}
		return nil
	})
	return n, err
}

// PendingLatest implements owner.Store.
func (s *Store) PendingLatest(ctx context.Context, prefix string, limit int) (list []owner.LatestDurableProjection, err error) {
	var broken error
	err = s.transaction(ctx, func() []*owner.Changes {
		for _, ownerID := range s.latest {
			if len(list) < limit && strings.HasPrefix(ownerID, prefix) {
				latest, err := owner.DecodeLatest(s.owners[ownerID].latest)
				if err != nil {
					broken = err
					return nil
				}
				list = append(list, latest)
			}
		}
		return nil
	})
	return list, errors.Join(err, broken)
}
