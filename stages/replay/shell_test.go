package replay_test

import (
	"testing"

	"go.uber.org/goleak"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay/memory"
	"amends.dev/amends/stages/replay/replaytest"
	"amends.dev/amends/stages/worker/workertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShell runs the suite of the shell in memory; stages/postgres runs it on Postgres.
func TestShell(t *testing.T) {
	replaytest.Run(t, func(_ *testing.T, cfg *ledger.Config) replaytest.Subject {
		store := workertest.NewStore(cfg.Namespace().Spec.Source.Partitions)
		return replaytest.Subject{
			Store: memory.Store{Store: store}, Worker: store, Log: &memory.Log{},
			Tables: func(*testing.T) workertest.Tables { return store.Tables() },
		}
	})
}
