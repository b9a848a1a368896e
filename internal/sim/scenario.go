package sim

import (
	"fmt"
	"math"
	"time"

	"amends.dev/amends/manifests"
)

// The topic IDs of every scenario.
const (
	sourceTopicID = "AAAAAAAAAAAAAAAAAAAAAQ"
	outputTopicID = "AAAAAAAAAAAAAAAAAAAAAg"
)

// The purposes that a seed is divided into.
const (
	purposeShape uint64 = iota + 1
	purposeHistory
	purposeSchedule
	purposeRun
)

// shape is the configuration of one run.
type shape struct {
	// workers, relays and views count processes; lanes is per worker process.
	workers, relays, views int
	lanes                  int32
	// maxBatch, maxOutputBytes, cacheRows, maxEnvelopes and maxRecords are the stages' options.
	maxBatch, maxOutputBytes, cacheRows, maxEnvelopes, maxRecords int
	// tick is how long every action takes.
	tick time.Duration
}

// scenario is everything that a run depends on.
type scenario struct {
	seed      uint64
	namespace *manifests.Namespace
	shape     shape
	events    []event
	actions   []action
}

// newScenario draws the scenario of a seed. The error is a bug of the simulator.
func newScenario(seed uint64) (*scenario, error) {
	r := newRandom(seed, purposeShape)
	traits := drawTraits(r)
	ns, err := drawNamespace(r, traits)
	if err != nil {
		return nil, fmt.Errorf("draw the namespace of seed %d: %w", seed, err)
	}
	s := &scenario{seed: seed, namespace: ns, shape: drawShape(r)}
	if s.events, err = drawHistory(newRandom(seed, purposeHistory), ns, traits); err != nil {
		return nil, fmt.Errorf("draw the history of seed %d: %w", seed, err)
	}
	s.actions = drawSchedule(newRandom(seed, purposeSchedule), s)
	return s, nil
}

// names are items that encoders, sorters and separators get wrong.
var names = []string{"a", "a-b", `q"uote`, "<b>&", "é", "\u2028", "x\x01", "b\\"}

// drawNamespace draws partitions and a few stock keys around small and, where the history may overflow, huge numbers.
func drawNamespace(r *random, t traits) (*manifests.Namespace, error) {
	spec := manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "sim.in", Partitions: int32(r.between(1, 3)), MaxRecordBytes: 1024},
		Output:       manifests.Output{Topic: "sim.out", Partitions: int32(r.between(1, 2))},
	}
	if r.oneIn(4) {
		spec.LedgerOrigin = time.Date(1969, 12, 20, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	for i := range r.between(1, 5) {
		key := manifests.StockKey{
			Item: names[(i+r.below(2)*4)%len(names)], Location: fmt.Sprintf("l%d", i),
			OpeningBalance: pick(r, int64(100), 0, 60, -20, 61), ReorderThreshold: pick(r, int64(60), 60, 0, -5),
		}
		if t.overflow && i == 0 {
			key.OpeningBalance = math.MaxInt64 - 100
		}
		spec.StockKeys = append(spec.StockKeys, key)
	}
	return manifests.New("sim", spec)
}

func drawShape(r *random) shape {
	return shape{
		workers: r.between(2, 3), relays: 2, views: 2, lanes: int32(r.between(1, 2)),
		maxBatch: pick(r, 1, 2, 3, 5, 20, 2000), maxOutputBytes: pick(r, 0, 0, 600, 3000),
		cacheRows: pick(r, 0, 0, -1, 4, 12), maxEnvelopes: pick(r, 1, 3, 10, 0), maxRecords: pick(r, 1, 3, 10, 0),
		tick: pick(r, time.Millisecond, 10*time.Millisecond, 40*time.Millisecond, 150*time.Millisecond),
	}
}
