package synthetic

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"math"
	"math/bits"

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
	names     []names // by key
	items     int     // the number of different ones
	locations int
}

// names are the numbers of a key's item and location, each counted by itself.
type names struct{ item, location int32 }

// share is the part of one partition.
type share struct {
	urn  *urn // of its keys, by their shares
	rows int64
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
	case c.Rows < 1 || c.Rows > 1<<39:
		return nil, fmt.Errorf("%d rows, want 1 to 2^39", c.Rows)
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
	h.number()
	h.divide()
	return h, nil
}

// number numbers items and locations.
func (h *History) number() {
	items, places := map[string]int32{}, map[string]int32{}
	of := func(all map[string]int32, text string) int32 {
		n, ok := all[text]
		if !ok {
			n = int32(len(all))
			all[text] = n
		}
		return n
	}
	for i := range h.Namespace.Spec.StockKeys {
		k := &h.Namespace.Spec.StockKeys[i]
		h.names = append(h.names, names{of(items, k.Item), of(places, k.Location)})
	}
	h.items, h.locations = len(items), len(places)
}

// namespace makes the keys: eight locations for each item, out of fifty.
func namespace(c *Config) (*manifests.Namespace, error) {
	spec := manifests.Spec{
		LedgerOrigin: Origin,
		Source:       manifests.Source{Topic: "synthetic.transactions", Partitions: c.Partitions},
		Output:       manifests.Output{Topic: "synthetic.outputs", Partitions: c.Partitions},
	}
	r := newRandom(c.Seed, 1<<32)
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
	r := newRandom(h.config.Seed, 1<<33)
	for i := range rank {
		j := r.below(uint64(i) + 1)
		rank[i], rank[j] = rank[j], int32(i)
	}
	order := make([]int32, len(keys))
	for k, at := range rank {
		order[at] = int32(k)
	}
	parts := make([]struct {
		keys    []int32
		weights []uint64
	}, h.config.Partitions)
	for at, k := range order {
		p := &parts[decode.Partition(decode.BrokerKey(keys[k].Item, keys[k].Location), h.config.Partitions)]
		weight := uint64(math.Pow(float64(at)+20, -float64(h.config.Skew)/100)*(1<<32)) + 1
		p.keys, p.weights = append(p.keys, k), append(p.weights, weight)
	}
	h.parts = make([]share, len(parts))
	for i := range parts {
		h.parts[i].urn = newUrn(parts[i].keys, parts[i].weights)
	}
	h.allot()
}

// allot divides the rows by weight, exactly; the largest partition gets what rounding leaves.
func (h *History) allot() {
	var total uint64
	for i := range h.parts {
		total += h.parts[i].urn.total
	}
	left, largest := h.config.Rows, &h.parts[0]
	for i := range h.parts {
		p := &h.parts[i]
		high, low := bits.Mul64(uint64(h.config.Rows), p.urn.total)
		rows, _ := bits.Div64(high, low, total)
		p.rows = int64(rows)
		left -= p.rows
		if p.urn.total > largest.urn.total {
			largest = p
		}
	}
	largest.rows += left
}

// Rows is the number of records of each partition.
func (h *History) Rows() []int64 {
	rows := make([]int64, len(h.parts))
	for p := range h.parts {
		rows[p] = h.parts[p].rows
	}
	return rows
}

// Write writes the history as a new snapshot. The bytes of its files depend on the Config alone.
func (h *History) Write(dir string) error { return h.WriteContext(context.Background(), dir, nil) }

// WriteContext is Write that publishes nothing after the end of the context. Where seen is not nil it is called with the
// number of records of each run that was written, from several goroutines.
func (h *History) WriteContext(ctx context.Context, dir string, seen func(rows int)) error {
	ends := h.Rows()
	meta := snapshot.Meta{
		Namespace: h.Namespace.Name, NamespaceDigest: h.Namespace.NamespaceDigest(),
		BusinessDigest: h.Namespace.BusinessDigest(h.TopicID()), TopicID: h.TopicID(), Starts: make([]int64, len(ends)), Ends: ends,
		Isolation: snapshot.ReadCommitted,
	}
	return snapshot.WriteBulk(ctx, dir, h.Namespace, meta, h.config.Raw, func(p int32) iter.Seq[*snapshot.Bulk] {
		return func(yield func(*snapshot.Bulk) bool) {
			for run := range h.Partition(p) {
				if !yield(run) {
					return
				}
				if seen != nil {
					seen(run.Rows)
				}
			}
		}
	})
}

// TopicID is the topic ID that the history claims to come from: another one for each Config, but for Raw, so that a folder
// tells what it holds.
func (h *History) TopicID() string {
	c := &h.config
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d %d %d", c.Rows, c.Keys, c.Skew, c.Days, c.Partitions, c.Seed))
	return base64.RawURLEncoding.EncodeToString(sum[:16]) // as Kafka writes one
}
