package oracletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// Mixed makes a history of exactly so many records in which every anomaly is common. One seed and size make the same
// history everywhere; four records or more are needed for any that takes several.
func Mixed(t TB, seed uint64, records int) Case {
	t.Helper()
	m := &mixer{Rand: rand.New(rand.NewPCG(seed, uint64(records)))}
	m.namespace(t, records)
	m.next = make([]int64, m.ns.Spec.Source.Partitions)
	for len(m.records) < records {
		m.step()
	}
	return Case{m.ns, m.records}
}

// mixer makes one history.
type mixer struct {
	*rand.Rand
	ns      *manifests.Namespace
	wide    bool // quantities at the bounds of int64 are common
	doubt   int  // how many of eight contradictions are told: none, some, or all
	next    []int64
	records []engine.Record
	told    []*told
	numbers int
}

// told is a transaction that may be corrected, repeated or contradicted.
type told struct {
	key  manifests.StockKey
	txn  string
	all  []payload // as they were told
	last payload   // of the highest revision
}

// payload is what one record says of its transaction.
type payload struct {
	kind           string
	revision       int64
	validTime, qty int64
}

// pick chooses one.
func pick[T any](m *mixer, of ...T) T { return of[m.IntN(len(of))] }

// namespace makes few keys, so that records meet on them, or several hundred for many records, so that buckets have several.
func (m *mixer) namespace(t TB, records int) {
	t.Helper()
	keys := map[string]manifests.StockKey{}
	most := 1 + m.IntN(4)
	if records > 200 {
		most = 1 + m.IntN(40)
	}
	m.wide, m.doubt = m.IntN(6) == 0, pick(m, 0, 1, 1, 8)
	for len(keys) < most {
		k := manifests.StockKey{Item: names[m.IntN(len(names))], Location: names[m.IntN(4)], OpeningBalance: int64(m.IntN(60) - 10), ReorderThreshold: int64(m.IntN(40))}
		if m.wide {
			k.OpeningBalance, k.ReorderThreshold = pick(m, quantities...), pick(m, quantities...)
		}
		keys[k.Item+"\x00"+k.Location] = k
	}
	spec := manifests.Spec{
		LedgerOrigin: pick(m, int64(math.MinInt64), -1_036_800_000_000_000, 1_767_225_600_000_000_000),
		Source:       manifests.Source{Topic: "t.transactions", Partitions: int32(1 + m.IntN(4)), MaxRecordBytes: 2048},
		Output:       manifests.Output{Topic: "t.outputs", Partitions: 1},
	}
	for _, k := range keys {
		spec.StockKeys = append(spec.StockKeys, k)
	}
	slices.SortFunc(spec.StockKeys, func(a, b manifests.StockKey) int {
		return strings.Compare(a.Item+"\x00"+a.Location, b.Item+"\x00"+b.Location)
	})
	ns, err := manifests.New("mixed", spec)
	if err != nil {
		t.Fatalf("mixed namespace: %v", err)
	}
	m.ns = ns
}

// step makes the next record.
func (m *mixer) step() {
	if len(m.told) == 0 || m.IntN(3) == 0 {
		m.fresh()
		return
	}
	t := m.told[len(m.told)-1-m.IntN(min(len(m.told), 12))]
	next := payload{kind: "AMEND", revision: t.last.revision + 1, validTime: m.instant(), qty: m.quantity()}
	switch m.IntN(11) {
	case 0, 1: // a correction
	case 2: // revisions are left out
		next.revision += 1 + int64(m.IntN(3))
		if m.IntN(4) == 0 {
			next.revision = pick(m, int64(1<<14-1), 1<<14, math.MaxInt64-1, math.MaxInt64)
		}
	case 3, 4:
		next.kind, next.qty = "CANCEL", 0
	case 5, 6: // a duplicate, of any revision
		next = t.all[m.IntN(len(t.all))]
	case 7: // a revision below the highest, told or not
		if t.last.revision == 1 {
			return
		}
		next.revision = 1 + m.Int64N(t.last.revision-1)
	case 8, 9: // a contradiction at the highest revision, or at any
		if m.IntN(8) >= m.doubt {
			return
		}
		next = m.contradicted(pick(m, t.last, t.all[m.IntN(len(t.all))]))
	default:
		m.spoiled(t)
		return
	}
	if next.revision < 1 { // behind the highest that there is
		return
	}
	m.tell(t, next)
}

// fresh makes a transaction that was not told before, or one of another key under a known ID.
func (m *mixer) fresh() {
	m.numbers++
	t := &told{key: pick(m, m.ns.Spec.StockKeys...), txn: fmt.Sprintf("t%d", m.numbers)}
	switch m.IntN(8) {
	case 0:
		t.txn = fmt.Sprintf("%s-%d", pick(m, strings.Repeat("x", 13), strings.Repeat("long ", 20)), m.numbers)
	case 1:
		t.txn = fmt.Sprintf("é\x01%d", m.numbers)
	case 2:
		t.txn = "everywhere"
	}
	p := payload{kind: pick(m, "NEW", "NEW", "NEW", "AMEND", "CANCEL"), revision: 1, validTime: m.instant(), qty: m.quantity()}
	if p.kind == "CANCEL" {
		p.qty = 0
	}
	if m.IntN(10) == 0 {
		p.revision += int64(m.IntN(5))
	}
	m.told = append(m.told, t)
	m.tell(t, p)
}

// contradicted is another payload of the same revision; a single field differs.
func (m *mixer) contradicted(p payload) payload {
	if p.kind == "CANCEL" || m.IntN(3) == 0 {
		p.validTime = m.instant()
		return p
	}
	if m.IntN(3) == 0 {
		p.kind = map[string]string{"NEW": "AMEND", "AMEND": "NEW"}[p.kind]
		return p
	}
	p.qty ^= 1
	return p
}

// quantity is mostly small.
func (m *mixer) quantity() int64 {
	if m.wide && m.IntN(4) == 0 {
		return pick(m, quantities...)
	}
	if m.IntN(40) == 0 {
		return pick(m, int64(math.MaxInt32), math.MaxInt32+1, math.MinInt32, math.MinInt32-1)
	}
	return int64(m.IntN(61) - 35)
}

// instant lies near a day boundary, mostly on one of few days, never before the origin.
func (m *mixer) instant() int64 {
	const day = 86_400_000_000_000
	at := pick(m, int64(-12), -1, 0, 20_454, 20_455, 20_456, 20_500)*day + pick(m, int64(0), day-1, day/2, 1)
	switch m.IntN(30) {
	case 0:
		at = math.MaxInt64
	case 1:
		at = math.MinInt64
	}
	return max(at, m.ns.Spec.LedgerOrigin)
}

// tell appends a record of a payload, in one of two spellings.
func (m *mixer) tell(t *told, p payload) {
	if len(t.all) == 0 || p.revision >= t.last.revision {
		t.last = p
	}
	t.all = append(t.all, p)
	value := []byte(t.text(p))
	if m.IntN(4) == 0 {
		value = []byte(t.otherwise(p))
	}
	m.append(t.key, decode.BrokerKey(t.key.Item, t.key.Location), value)
}

// append appends a record to the partition of a key, sometimes behind a gap.
func (m *mixer) append(k manifests.StockKey, key, value []byte) *engine.Record {
	partition := decode.Partition(decode.BrokerKey(k.Item, k.Location), m.ns.Spec.Source.Partitions)
	if m.IntN(8) == 0 {
		m.next[partition] += int64(m.IntN(5))
	}
	m.records = append(m.records, engine.Record{
		Partition: partition, Offset: m.next[partition], BrokerTime: 1_767_225_600_000 + int64(len(m.records)), Key: key, Value: value,
	})
	m.next[partition]++
	return &m.records[len(m.records)-1]
}

// text is a payload as most senders write it.
func (t *told) text(p payload) string {
	return fmt.Sprintf(`{"txn_id":%s,"revision":%d,"kind":"%s","stock_key":{"item":%s,"location":%s},"valid_time":"%s","qty":%d,"source_time":"2026-01-01T00:00:00Z"}`,
		text(t.txn), p.revision, p.kind, text(t.key.Item), text(t.key.Location), instant(p.validTime), p.qty)
}

// otherwise is the same payload in another order, with white space and escapes.
func (t *told) otherwise(p payload) string {
	return fmt.Sprintf("{ \"source_time\" : \"2026-02-01T05:30:00.5+05:30\",\n\t\"qty\":%d, \"valid_time\":\"%s\", \"stock_key\":{\"location\":%s, \"item\":%s},"+
		" \"kind\":\"%s\\u00%x\",\"revision\":%d,\"txn_id\":%s }",
		p.qty, instant(p.validTime), text(t.key.Location), text(t.key.Item), p.kind[:len(p.kind)-1], p.kind[len(p.kind)-1], p.revision, text(t.txn))
}

// instant is a valid time in RFC 3339.
func instant(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

// text is a JSON string with no more escapes than there must be.
func text(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// spoiled appends a record that is rejected: each reason has its turn.
func (m *mixer) spoiled(t *told) {
	p := payload{kind: "NEW", revision: 1, validTime: m.instant(), qty: 1}
	good, key := t.text(p), decode.BrokerKey(t.key.Item, t.key.Location)
	early := ""
	if origin := m.ns.Spec.LedgerOrigin; origin > math.MinInt64 {
		early = t.text(payload{kind: "NEW", revision: 1, validTime: origin - 1, qty: 1})
	}
	replaced := func(old, by string) []byte { return []byte(strings.Replace(good, old, by, 1)) }
	switch m.IntN(19) {
	case 0:
		m.append(t.key, key, nil)
	case 1:
		m.append(t.key, nil, []byte(good))
	case 2:
		m.append(t.key, key, []byte{})
	case 3:
		m.append(t.key, key, []byte(good+strings.Repeat(" ", 2048)))
	case 4:
		m.append(t.key, key, []byte(early)) // or empty, where nothing is too early
	case 5:
		r := m.append(t.key, key, []byte(good))
		m.misroute(r)
	case 6:
		m.append(t.key, append(slices.Clone(key), ' '), []byte(good))
	case 7:
		m.append(t.key, key, []byte(good)[:len(good)/2])
	default:
		change := pick(m, [][2]string{
			{`"qty":1`, `"qty":1,"qty":1`}, {`"qty":1`, `"qty":1,"note":0`}, {`"qty":1,`, ``}, {`"qty":1`, `"qty":1.0`},
			{`"qty":1`, `"qty":9223372036854775808`}, {`"kind":"NEW"`, `"kind":"new"`}, {`"kind":"NEW"`, `"kind":"CANCEL"`},
			{`"revision":1`, `"revision":0`}, {`"txn_id":"`, `"txn_id":"\u0000`}, {`"valid_time":"`, `"valid_time":"+`},
			{`"source_time":"`, `"source_time":"+`}, {`"item":"`, `"item":"-`},
		}...)
		m.append(t.key, key, replaced(change[0], change[1]))
	}
}

// misroute moves the last record to another partition, if there is one.
func (m *mixer) misroute(r *engine.Record) {
	m.next[r.Partition]--
	r.Partition = (r.Partition + 1) % m.ns.Spec.Source.Partitions
	r.Offset = m.next[r.Partition]
	m.next[r.Partition]++
}
