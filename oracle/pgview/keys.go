package pgview

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/compare"
)

// keyReader reads the key at the beginning of a row of a COPY into a fact, and returns the size and the number of its fields;
// the size is -1 where it is not complete yet.
type keyReader func(data []byte, f *compare.Fact) (size, fields int, err error)

// names finds stock keys by item and location as COPY writes them: each with its length before it, so that no two keys are
// the same bytes.
type names map[string]int32

// namesOf numbers the configured keys.
func namesOf(keys []manifests.StockKey) names {
	all := make(names, len(keys))
	for i := range keys {
		all[nameOf(keys[i].Item, keys[i].Location)] = int32(i)
	}
	return all
}

// nameOf is a key as COPY writes it.
func nameOf(item, location string) string {
	var b []byte
	for _, text := range []string{item, location} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return string(b)
}

// key is the keyReader of rows that begin with item and location.
func (n names) key(data []byte, f *compare.Fact) (size, fields int, err error) {
	item, at, err := nextField(data)
	if err != nil || at < 0 {
		return at, 2, err
	}
	location, more, err := nextField(data[at:])
	if err != nil || more < 0 {
		return more, 2, err
	}
	number, known := n[string(data[:at+more])]
	if f.Key = number; !known {
		f.Key, f.Item, f.Location = -1, string(item), string(location)
	}
	return at + more, 2, nil
}

// numbers are the keys of a view by the numbers that its rows have for them.
type numbers struct {
	// dense has the number among the configured keys for the numbers that a view usually gives, -1 where it has none;
	// others has the rest.
	dense  []int32
	others map[int32]compare.Fact
}

// key is the keyReader of rows that begin with key_id.
func (n *numbers) key(data []byte, f *compare.Fact) (size, fields int, err error) {
	value, size, err := nextField(data)
	if err != nil || size < 0 {
		return size, 1, err
	}
	if len(value) != 4 {
		return 0, 1, errRow
	}
	id := int32(binary.BigEndian.Uint32(value))
	if uint32(id) < uint32(len(n.dense)) && n.dense[id] >= 0 {
		f.Key = n.dense[id]
		return size, 1, nil
	}
	known, ok := n.others[id]
	if *f = known; !ok {
		f.Key, f.Location = -1, fmt.Sprintf("key_id %d", id)
	}
	return size, 1, nil
}

// set notes which key a number stands for; false where it was noted before.
func (n *numbers) set(id int32, key compare.Fact) bool {
	usual := uint32(id) < uint32(len(n.dense))
	if _, twice := n.others[id]; twice || usual && n.dense[id] >= 0 {
		return false
	}
	if usual && key.Key >= 0 {
		n.dense[id] = key.Key
		return true
	}
	n.others[id] = key
	return true
}

// numbers reads which key each number stands for. once says that an SQL view shows each present row of its base table
// once, under that key, or not at all where the number stands for none: it is defined so, and what it joins a row with is
// there once.
func (v viewSnapshot) numbers(ctx context.Context, view string) (of *numbers, once bool, err error) {
	if created, err := v.asCreated(ctx, view); err != nil || !created {
		return nil, false, err
	}
	configured := make(map[compare.Key]int32, len(v.applied.Namespace.Spec.StockKeys))
	for i, k := range v.applied.Namespace.Spec.StockKeys {
		configured[compare.Key{Item: k.Item, Location: k.Location}] = int32(i)
	}
	type row struct {
		id  int32
		key compare.Key
	}
	scan := func(rows pgx.Rows, r *row) error { return rows.Scan(&r.id, &r.key.Item, &r.key.Location) }
	schema := v.applied.ViewSchema
	sql := `SELECT k.key_id, k.item, k.location FROM ` + table(schema, "stock_key") + ` k LEFT JOIN ` + table(schema, "key_status") + ` s USING (key_id)`
	of = &numbers{dense: slices.Repeat([]int32{-1}, len(configured)), others: map[int32]compare.Fact{}}
	for r, err := range stream(ctx, v.tx, "the view's stock keys", scan, sql) {
		if err != nil {
			return nil, false, err
		}
		key := compare.Fact{Key: -1, Item: r.key.Item, Location: r.key.Location}
		if number, known := configured[r.key]; known {
			key = compare.Fact{Key: number}
		}
		if !of.set(r.id, key) {
			return nil, false, nil
		}
	}
	return of, true, nil
}
