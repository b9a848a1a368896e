package ledger

import (
	"sync"

	"amends.dev/amends/manifests"
)

// names are the two strings of a stock key as a map key.
type names struct{ item, location string }

// Config is a namespace prepared for deciding records: key index, broker keys, partition mapping. It is safe for
// concurrent use and must not be copied.
type Config struct {
	namespace *manifests.Namespace
	topicID   string
	keyIDs    map[names]int32
	// keyText holds all broker keys one after another; the key of ID i ends at keyEnd[i]. A million small slices
	// would cost more than the text.
	keyText   []byte
	keyEnd    []int
	partition []int32
	scanners  sync.Pool
}

// NewConfig prepares a namespace. sourceTopicID is Kafka's textual ID of the source topic, as envelopes carry it.
// Time and memory are linear in the number of stock keys: about 200 bytes a key.
func NewConfig(ns *manifests.Namespace, sourceTopicID string) *Config {
	keys := ns.Spec.StockKeys
	c := &Config{
		namespace: ns,
		topicID:   sourceTopicID,
		keyIDs:    make(map[names]int32, len(keys)),
		keyEnd:    make([]int, 0, len(keys)),
		partition: make([]int32, 0, len(keys)),
	}
	c.scanners.New = func() any { return newScanner() }
	for i, key := range keys {
		start := len(c.keyText)
		c.keyText = appendTuple(c.keyText, key.Item, key.Location)
		c.keyEnd = append(c.keyEnd, len(c.keyText))
		c.partition = append(c.partition, PartitionOf(c.keyText[start:], ns.Spec.Source.Partitions))
		c.keyIDs[names{key.Item, key.Location}] = int32(i) // manifests hold far fewer than 2^31 keys
	}
	return c
}

// Namespace returns the namespace the configuration was made from.
func (c *Config) Namespace() *manifests.Namespace { return c.namespace }

// SourceTopicID returns the source topic's ID in Kafka's textual form.
func (c *Config) SourceTopicID() string { return c.topicID }

// StockKey returns the configured key of an ID, which is its index in Spec.StockKeys.
func (c *Config) StockKey(keyID int32) *manifests.StockKey { return &c.namespace.Spec.StockKeys[keyID] }

// BrokerKey returns the broker record key of a stock key ID. The slice is shared: it must not be changed.
func (c *Config) BrokerKey(keyID int32) []byte {
	start := 0
	if keyID > 0 {
		start = c.keyEnd[keyID-1]
	}
	end := c.keyEnd[keyID]
	return c.keyText[start:end:end]
}

// SourcePartition returns the source partition that a stock key ID maps to.
func (c *Config) SourcePartition(keyID int32) int32 { return c.partition[keyID] }
