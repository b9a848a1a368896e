package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/postgres"
)

// Store implements owner.Store. It is safe for concurrent use.
type Store struct{ pool *postgres.Pool }

// New returns the store over a pool whose search_path is a schema of the layout postgres.KindOwner. The caller closes the
// pool.
func New(pool *postgres.Pool) *Store { return &Store{pool: pool} }

var _ owner.Store = (*Store)(nil)

// Create implements owner.Store.
func (s *Store) Create(ctx context.Context, ownerID string, config owner.Config) (owner.Result, error) {
	result, err := s.one(ctx, owner.WantOwner(ownerID), func(g *owner.Group) owner.Result { return g.Create(ownerID, &config) })
	if err != nil {
		return owner.Result{}, fmt.Errorf("create owner %q: %w", ownerID, err)
	}
	return result, nil
}

// AdvanceFence implements owner.Store.
func (s *Store) AdvanceFence(ctx context.Context, ownerID string, fence uint64) (owner.Result, error) {
	results, err := s.AdvanceFences(ctx, fence, ownerID)
	if err != nil {
		return owner.Result{}, err
	}
	return results[0], nil
}

// AdvanceFences is AdvanceFence of many owners in one transaction, each decided by itself. Results are in the order of
// ownerIDs.
func (s *Store) AdvanceFences(ctx context.Context, fence uint64, ownerIDs ...string) ([]owner.Result, error) {
	wanted := make([]owner.Wanted, 0, len(ownerIDs))
	for _, id := range ownerIDs {
		wanted = append(wanted, owner.WantOwner(id))
	}
	var results []owner.Result
	err := s.transaction(ctx, wanted, func(g *owner.Group) {
		results = make([]owner.Result, 0, len(ownerIDs))
		for _, id := range ownerIDs {
			results = append(results, g.AdvanceFence(id, fence))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("advance the fence of %d owners to %d: %w", len(ownerIDs), fence, err)
	}
	return results, nil
}

// RecordReceipt implements owner.Store.
func (s *Store) RecordReceipt(ctx context.Context, ownerID string, fence uint64, receipt owner.Receipt) (owner.Result, error) {
	result, err := s.one(ctx, owner.WantReceipt(ownerID, &receipt), func(g *owner.Group) owner.Result {
		return g.RecordReceipt(ownerID, fence, &receipt)
	})
	if err != nil {
		return owner.Result{}, fmt.Errorf("record receipt %q of owner %q: %w", receipt.ID, ownerID, err)
	}
	return result, nil
}

// Commit implements owner.Store.
func (s *Store) Commit(ctx context.Context, commits ...owner.Commit) ([]owner.Result, error) {
	var results []owner.Result
	err := s.transaction(ctx, owner.Want(commits...), func(g *owner.Group) {
		results = make([]owner.Result, 0, len(commits))
		for i := range commits {
			results = append(results, g.Commit(&commits[i]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("commit %d units of work: %w", len(commits), err)
	}
	return results, nil
}

func (s *Store) one(ctx context.Context, wanted owner.Wanted, request func(*owner.Group) owner.Result) (result owner.Result, err error) {
	err = s.transaction(ctx, []owner.Wanted{wanted}, func(g *owner.Group) { result = request(g) })
	return result, err
}

// transaction locks and reads what is wanted, lets decide ask a group about it, and commits what the group then says. It
// does so anew where another transaction creates one of the owners at the same moment; decide is then called again.
func (s *Store) transaction(ctx context.Context, wanted []owner.Wanted, decide func(*owner.Group)) error {
	wanted = storable(wanted)
	if len(wanted) == 0 {
		decide(owner.NewGroup())
		return nil
	}
	for {
		err := s.attempt(ctx, wanted, decide)
		if !createdMeanwhile(err) {
			return err
		}
		mark.Hit("B135 created by another transaction meanwhile")
	}
}

// storable leaves out what package owner marks as nothing to look for.
func storable(wanted []owner.Wanted) []owner.Wanted {
	kept := wanted[:0:0]
	for i := range wanted {
		if wanted[i].OwnerID != "" {
			kept = append(kept, wanted[i])
		}
	}
	return kept
}

// createdMeanwhile reports whether an owner was created between the moment at which it was looked for and its insertion.
func createdMeanwhile(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "23505" && server.ConstraintName == "owner_id_unique"
}
