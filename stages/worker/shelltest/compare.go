package shelltest

import (
	"math/rand/v2"
	"testing"

	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// Compare drains one random history of 600 records, nine at a time, through a store that may fail in any way, and fails
// where the tables are not those of an undisturbed worker in memory.
func Compare(t *testing.T, fresh Fresh) {
	t.Helper()
	w := newWorld(t, fresh, workertest.Config("compare", 2, 4))
	w.log.Mix(w.cfg, rand.New(rand.NewPCG(9, 9)), 600, workertest.Spread{Keys: 4, Identities: 40, Days: 15})
	w.change = func(o *worker.Options) { o.MaxBatch = 9 }
	worker := w.start()
	w.drain(worker)
	worker.Close()
	same(t, "through faults", w.reference(), w.tables(t))
}
