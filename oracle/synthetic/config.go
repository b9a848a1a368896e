package synthetic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized/snapshot"
)

// Config says what history to make. Zero values other than Rows stand for the defaults.
type Config struct {
	// Rows is the number of records, at least 1.
	Rows int64
	// Keys is the number of stock keys; the default is one for 250 records, at least 8.
	Keys int64
	// Skew is the exponent of the keys' shares, in percent: 0 makes all equally busy; the default is 110.
	Skew int64
	// Days is the length of the history; the default is 730.
	Days int64
	// Partitions is the number of partitions; the default is 8.
	Partitions int32
	// Seed makes another history of the same shape.
	Seed uint64
	// Raw makes the raw key and value of each record too.
	Raw bool
}

// Origin is the ledger origin of synthetic histories, 2023-01-01, in nanoseconds since the Unix epoch.
const Origin = 1_672_531_200_000_000_000

// History is a history that can be generated.
type History struct {
	// Namespace is what it belongs to.
	Namespace *manifests.Namespace
	config    Config
	parts     []share
}

// share is the part of one partition.
type share struct {
	keys   []int32  // by rank, the busiest first
	weight []uint64 // running sums of the keys' shares
	rows   int64
}

// New plans a history. The error says which value is out of range.
func New(c Config) (*History, error) {
	if c.Keys == 0 {
		c.Keys = max(8, c.Rows/250)
	}
	if c.Days == 0 {
		c.Days = 730
	}
	if c.Partitions == 0 {
		c.Partitions = 8
	}
	switch {
	case c.Rows < 1 || c.Rows > 1<<40:
		return nil, fmt.Errorf("%d rows, want 1 to 2^40", c.Rows)
	case c.Keys < 1 || c.Keys > 1<<26:
		return nil, fmt.Errorf("%d keys, want 1 to 2^26", c.Keys)
	case c.Days < 1 || c.Days > 80_000:
		return nil, fmt.Errorf("%d days, want 1 to 80000", c.Days)
	case c.Skew < 0 || c.Skew > 400:
		return nil, fmt.Errorf("a skew of %d percent, want 0 to 400", c.Skew)
	}
	ns, err := namespace(&c)
	if err != nil {
		return nil, err
	}
	h := &History{Namespace: ns, config: c}
	h.divide()
	return h, nil
}

// namespace makes the keys: eight locations for each item, out of fifty.
func namespace(c *Config) (*manifests.Namespace, error) {
	spec := manifests.Spec{
		LedgerOrigin: Origin,
		Source:       manifests.Source{Topic: "synthetic.transactions", Partitions: c.Partitions},
		Output:       manifests.Output{Topic: "synthetic.outputs", Partitions: c.Partitions},
	}
	r := random{state: c.Seed ^ 0x5EED}
	for k := range c.Keys {
		item := k / 8
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{
			Item: fmt.Sprintf("SKU-%06d", item), Location: fmt.Sprintf("WH-%03d", (k%8*7+item*13)%50),
			OpeningBalance: int64(r.below(400)), ReorderThreshold: int64(r.below(400)) - 100,
		})
	}
	return manifests.New("synthetic", spec)
}

// divide gives each key its share by a rank of its own, and each partition the rows of its keys.
func (h *History) divide() {
	keys := h.Namespace.Spec.StockKeys
	rank := make([]int32, len(keys))
	r := random{state: h.config.Seed ^ 0xA11}
	for i := range rank {
		j := r.below(uint64(i) + 1)
		rank[i], rank[j] = rank[j], int32(i)
	}
	h.parts = make([]share, h.config.Partitions)
	order := make([]int32, len(keys))
	for k, at := range rank {
		order[at] = int32(k)
	}
	for at, k := range order {
		p := &h.parts[decode.Partition(decode.BrokerKey(keys[k].Item, keys[k].Location), h.config.Partitions)]
		weight := uint64(math.Pow(float64(at)+20, -float64(h.config.Skew)/100)*(1<<32)) + 1
		if n := len(p.weight); n > 0 {
			weight += p.weight[n-1]
		}
		p.keys, p.weight = append(p.keys, k), append(p.weight, weight)
	}
	h.allot()
}

// allot divides the rows by weight, exactly.
func (h *History) allot() {
	var total uint64
	for i := range h.parts {
		total += h.parts[i].total()
	}
	left := h.config.Rows
	for i := range h.parts {
		p := &h.parts[i]
		p.rows = int64(float64(h.config.Rows) * (float64(p.total()) / float64(total)))
		p.rows = min(p.rows, left)
		left -= p.rows
	}
	largest := slices.MaxFunc(h.parts, func(a, b share) int { return cmp.Compare(a.total(), b.total()) })
	for i := range h.parts {
		if h.parts[i].total() == largest.total() {
			h.parts[i].rows += left
			break
		}
	}
}

// total is the weight of all keys.
func (s *share) total() uint64 {
	if len(s.weight) == 0 {
		return 0
	}
	return s.weight[len(s.weight)-1]
}

// Rows is the number of records of each partition.
func (h *History) Rows() []int64 {
	rows := make([]int64, len(h.parts))
	for p := range h.parts {
		rows[p] = h.parts[p].rows
	}
	return rows
}

// random is splitmix64: a sequence is a function of its seed on every machine.
type random struct{ state uint64 }

// next returns 64 random bits.
func (r *random) next() uint64 {
	r.state += 0x9E3779B97F4A7C15
	x := r.state
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// below returns a number below n.
func (r *random) below(n uint64) uint64 {
	if n < 1<<32 {
		return r.next() >> 32 * n >> 32
	}
	return r.next() % n
}

// Write writes the history as a new snapshot.
func (h *History) Write(dir string) error {
	ends := h.Rows()
	return snapshot.WriteBulk(dir, h.Namespace, snapshot.Meta{
		Namespace: h.Namespace.Name, NamespaceDigest: h.Namespace.NamespaceDigest(),
		BusinessDigest: h.Namespace.BusinessDigest(TopicID), TopicID: TopicID, Starts: make([]int64, len(ends)), Ends: ends,
		Isolation: snapshot.ReadCommitted,
	}, h.config.Raw, h.Partition)
}

// TopicID is the topic ID that synthetic histories claim to come from.
const TopicID = "c3ludGhldGljLWhpc3Rvcg"
