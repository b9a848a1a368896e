package ledger

import (
	"container/list"
	"maps"
	"slices"

	"amends.dev/amends/internal/mark"
)

// Cache keeps the state of stock keys between the units of work of one partition under one epoch (R15), least recently
// used keys leaving first. It is used by one goroutine.
//
// A batch takes states out and owns them; only a batch whose commit is known to have succeeded gives them back. A batch
// that was abandoned simply leaves its keys out, so a decision that did not commit can never be seen again.
type Cache struct {
	capacity        int
	epoch, frontier int64
	used            int
	entries         map[int32]*list.Element
	recent          *list.List // of *cacheEntry, most recent first
}

// cacheEntry is one key with its counted size.
type cacheEntry struct {
	key  *keyState
	size int
}

// NewCache returns an empty cache that holds at most capacity rows: each key counts as one, with one more for each of
// its day rows and known identities. 0 caches nothing.
func NewCache(capacity int) *Cache {
	return &Cache{capacity: capacity, entries: make(map[int32]*list.Element), recent: list.New()}
}

// Open binds the cache to an epoch and a frontier, as read under the partition's row lock. Where they are not those
// that the entries belong to, the entries are dropped: an owner that comes back under a later epoch of its own, or
// another process's progress in between, finds an empty cache.
func (c *Cache) Open(epoch, frontier int64) {
	if epoch != c.epoch || frontier != c.frontier {
		if c.used > 0 {
			mark.Hit("R15 cache of another owner dropped")
		}
		c.Drop()
	}
	c.epoch, c.frontier = epoch, frontier
}

// Drop forgets everything: after an aborted or unknown outcome, and after any administrative operation.
func (c *Cache) Drop() {
	clear(c.entries)
	c.recent.Init()
	c.used = 0
}

// Used returns the number of rows held, at most the capacity.
func (c *Cache) Used() int { return c.used }

// Checkout moves the states of the transactions' keys into a batch that starts at the cache's frontier. A batch that
// starts elsewhere gets nothing and the cache is dropped.
func (c *Cache) Checkout(b *Batch, txs []Transaction) {
	if b.frontier != c.frontier {
		mark.Hit("R15 batch elsewhere gets nothing")
		c.Drop()
		return
	}
	for i := range txs {
		if element, ok := c.entries[txs[i].KeyID]; ok {
			b.keys[txs[i].KeyID] = c.remove(element).key
		}
	}
}

// Return takes over the states of a batch whose commit under this cache's epoch is known to have succeeded, and moves
// to its frontier. The batch must not be used any more.
func (c *Cache) Return(b *Batch) {
	if b.frontier != c.frontier {
		c.Drop()
	}
	b.settleCommitted()
	c.frontier = b.next
	for _, keyID := range slices.Sorted(maps.Keys(b.keys)) { // in one order, so that runs repeat exactly
		c.add(b.keys[keyID])
	}
	b.keys = nil
}

// add inserts a key as the most recent one.
func (c *Cache) add(key *keyState) {
	// One hot key may have a million identities: past a quarter of the cache they are left to the store, which is
	// asked for the few that a batch needs, while the days stay.
	if len(key.identities) > c.capacity/4 {
		key.identities = make(map[string]*identity)
		key.complete = false
	}
	entry := &cacheEntry{key: key, size: 1 + len(key.days) + len(key.identities)}
	if entry.size > c.capacity {
		return
	}
	for c.used+entry.size > c.capacity {
		c.remove(c.recent.Back())
	}
	c.entries[key.id] = c.recent.PushFront(entry)
	c.used += entry.size
}

// remove takes an entry out.
func (c *Cache) remove(element *list.Element) *cacheEntry {
	entry := c.recent.Remove(element).(*cacheEntry) //nolint:forcetypeassert // the list holds nothing else
	delete(c.entries, entry.key.id)
	c.used -= entry.size
	return entry
}
