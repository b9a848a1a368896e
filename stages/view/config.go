package view

import (
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// Config is a namespace prepared for reading its envelopes. It is immutable and safe for concurrent use.
type Config struct {
	name       string
	stockKeys  []manifests.StockKey
	partitions int32
	// byBrokerKey finds a stock key's index from the record key.
	byBrokerKey map[string]int32
	// mapped is the output partition of each stock key.
	mapped []int32
}

// NewConfig indexes the namespace's stock keys and maps each to its output partition (design section 3).
func NewConfig(namespace *manifests.Namespace) *Config {
	keys := namespace.Spec.StockKeys
	c := &Config{
		name:        namespace.Name,
		stockKeys:   keys,
		partitions:  namespace.Spec.Output.Partitions,
		byBrokerKey: make(map[string]int32, len(keys)),
		mapped:      make([]int32, len(keys)),
	}
	for i, key := range keys {
		brokerKey := ledger.BrokerKey(key.Item, key.Location)
		c.byBrokerKey[string(brokerKey)] = int32(i)
		c.mapped[i] = ledger.PartitionOf(brokerKey, c.partitions)
	}
	return c
}

// Partitions is the number of output partitions.
func (c *Config) Partitions() int32 { return c.partitions }
