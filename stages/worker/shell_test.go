package worker_test

import (
	"testing"

	"go.uber.org/goleak"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker/shelltest"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShell runs the suite of the shell in memory; stages/postgres runs it on Postgres.
func TestShell(t *testing.T) {
	shelltest.Run(t, func(_ *testing.T, cfg *ledger.Config) storetest.Subject {
		store := workertest.NewStore(cfg.Namespace().Spec.Source.Partitions)
		return storetest.Subject{Store: store, Tables: func(*testing.T) workertest.Tables { return store.Tables() }}
	})
}
