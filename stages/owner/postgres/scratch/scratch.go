// Package scratch is a durable owner's store in a Postgres schema of its own, for conformance runs: it can lose its
// process before a COMMIT and in between, for real, and is gone afterwards.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// Scratch is an empty store at first. It is used by one goroutine.
type Scratch struct {
	url, schema string
	pool        *postgres.Pool
	wires       *wires
}

// New creates the schema, which must not exist yet, and opens the store. url is a connection URL of a database that may
// have schemas created in it.
func New(ctx context.Context, url, schema string) (*Scratch, error) {
	s := &Scratch{url: url, schema: schema}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, s.pool, postgres.KindOwner, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("create schema %s: %w", schema, err), s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// open replaces the pool, whose process is then no more.
func (s *Scratch) open(ctx context.Context) error {
	s.drop()
	w := &wires{}
	pool, err := postgres.Connect(ctx, postgres.Options{URL: s.url, Schema: s.schema, Application: "amends conformance", MaxConns: 2, Configure: w.configure})
	if err != nil {
		return err
	}
	s.pool, s.wires = pool, w
	return nil
}

// drop cuts every connection as they are, without telling the server.
func (s *Scratch) drop() {
	if s.pool == nil {
		return
	}
	s.wires.cutAll()
	s.pool.Close()
	s.pool = nil
}

// Store is the store as the present process has it.
func (s *Scratch) Store() owner.Store { return ownerpg.New(s.pool) }

// CrashBeforeCommit runs a unit of work whose connection is cut after everything was sent and before COMMIT is, and goes
// on as a new process. It reports whether the old one was lost; it was not where the unit of work was committed all the
// same. A unit of work that is refused sends no COMMIT: its process is lost before it could tell anybody.
func (s *Scratch) CrashBeforeCommit(ctx context.Context, c owner.Commit) (lost bool, err error) {
	s.wires.arm()
	results, failure := s.Store().Commit(ctx, c)
	cut := s.wires.disarm()
	if err := s.Recover(ctx); err != nil {
		return false, err
	}
	switch {
	case failure == nil:
		return results[0].Outcome != owner.Committed, nil
	case cut:
		return true, nil
	}
	return false, fmt.Errorf("crash before commit: %w", failure)
}

// Recover cuts every connection of the present process and goes on as a new one. The server rolls back what was open.
func (s *Scratch) Recover(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return fmt.Errorf("open the store again: %w", err)
	}
	return nil
}

// closeTimeout bounds the removal of the schema.
const closeTimeout = 30 * time.Second

// Close removes the schema, over new connections where the process was lost.
func (s *Scratch) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if s.pool == nil {
		if err := s.open(ctx); err != nil {
			return fmt.Errorf("remove schema %s: %w", s.schema, err)
		}
	}
	_, err := s.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+pgx.Identifier{s.schema}.Sanitize()+` CASCADE`)
	s.drop()
	if err != nil {
		return fmt.Errorf("remove schema %s: %w", s.schema, err)
	}
	return nil
}
