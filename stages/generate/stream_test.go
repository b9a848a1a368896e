package generate_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"os"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/ledger"
)

// demo is the manifest that the demo generates for.
func demo(t testing.TB) *manifests.Namespace {
	t.Helper()
	data, err := os.ReadFile("../../manifests/examples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ns, problems := manifests.Parse("demo.yaml", data, nil)
	if ns == nil {
		t.Fatal(problems)
	}
	return ns
}

// namespaceOf configures the given openings, each with its own item.
func namespaceOf(t testing.TB, partitions int32, threshold int64, openings ...int64) *manifests.Namespace {
	t.Helper()
	spec := manifests.Spec{LedgerOrigin: 1767225600000000000, Source: manifests.Source{Topic: "in", Partitions: partitions},
		Output: manifests.Output{Topic: "out", Partitions: 1}}
	for i, opening := range openings {
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: string(rune('a' + i)), Location: "l\"\u2028é", OpeningBalance: opening, ReorderThreshold: threshold})
	}
	ns, err := manifests.New("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// everything generates all classes.
func everything(count int64) generate.Options {
	o := generate.Defaults()
	o.Count, o.Duplicate, o.Stale, o.Conflict, o.Malformed = count, 40_000, 30_000, 20_000, 50_000
	return o
}

func mustStream(t testing.TB, ns *manifests.Namespace, o generate.Options) *generate.Stream {
	t.Helper()
	s, err := generate.NewStream(ns, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fingerprint digests everything a stream yields.
func fingerprint(s *generate.Stream) string {
	h := sha256.New()
	for r := range s.All() {
		head := binary.BigEndian.AppendUint32(nil, uint32(r.Partition))
		head = append(head, byte(r.Class), byte(len(r.Key)))
		h.Write(append(append(head, r.Key...), r.Value...))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestB026SameSeedSameBytes: one seed is one stream, in this process, in another and with any later release: its
// digest is pinned. Every key has one partition, and it is the fixed mapping's.
func TestB026SameSeedSameBytes(t *testing.T) {
	mark.Expect(t, "generate.1 seeded by the options alone")
	ns := demo(t)
	const pinned = "8271dc488f1338f447d72503d904128f6778106e50851a93d493838135614313"
	first, second := fingerprint(mustStream(t, ns, everything(5000))), fingerprint(mustStream(t, ns, everything(5000)))
	if first != second || first != pinned {
		t.Errorf("streams of one seed: %s and %s, pinned %s", first, second, pinned)
	}
	other := everything(5000)
	other.Seed = 2
	if fingerprint(mustStream(t, ns, other)) == first {
		t.Error("two seeds give one stream")
	}
	for r := range mustStream(t, ns, generate.Defaults()).All() {
		if want := ledger.PartitionOf(r.Key, ns.Spec.Source.Partitions); r.Partition != want {
			t.Fatalf("key %s in partition %d, want %d", r.Key, r.Partition, want)
		}
	}
}

// TestSharesComeOut: the counts by class are exactly the shares of the count, and the rest is new.
func TestSharesComeOut(t *testing.T) {
	f := func(o generate.Options, want generate.Counts) {
		t.Helper()
		s := mustStream(t, demo(t), o)
		var got generate.Counts
		for r := range s.All() {
			got[r.Class]++
		}
		if got != want || s.Counts() != want || s.Total() != o.Count {
			t.Errorf("%+v:\ngot  %v\nwant %v", o, got.Map(), want.Map())
		}
	}
	want := generate.Counts{}
	want[generate.New], want[generate.Backdate], want[generate.Amend], want[generate.Move], want[generate.Cancel] = 13_000, 2000, 3000, 1000, 1000
	f(generate.Defaults(), want)
	want[generate.New], want[generate.Duplicate], want[generate.Stale], want[generate.Conflict], want[generate.Malformed] = 10_200, 800, 600, 400, 1000
	f(everything(20_000), want)
	f(generate.Options{Count: 1, Days: 1}, generate.Counts{generate.New: 1})
	f(generate.Options{Count: 10, Days: 1, Cancel: generate.Whole}, generate.Counts{generate.New: 4, generate.Amend: 1, generate.Cancel: 5}) // the story, and one to cancel
	f(generate.Options{Count: 1000, Days: 1, Move: generate.Whole}, generate.Counts{generate.New: 999, generate.Amend: 1})                   // one day: nowhere to move
}

// TestDecodeAccepts: without a malformed share nothing is rejected; with one exactly those records are, for every
// reason but the size.
func TestDecodeAccepts(t *testing.T) {
	mark.Expect(t, "generate.3 record with one thing wrong")
	for _, ns := range []*manifests.Namespace{demo(t), namespaceOf(t, 1, 0, 5), namespaceOf(t, 7, 60, math.MaxInt64-2, math.MinInt64+2, 100)} {
		config := ledger.NewConfig(ns, "id")
		reasons := map[ledger.Reason]int{}
		for r := range mustStream(t, ns, everything(20_000)).All() {
			_, reason := config.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value})
			if (reason != ledger.ReasonNone) != (r.Class == generate.Malformed) {
				t.Fatalf("%v %s: %q", r.Class, r.Value, reason)
			}
			reasons[reason]++
		}
		want := 18 // no reason, and all but oversized_record
		if ns.Spec.Source.Partitions == 1 {
			want-- // nothing is misrouted
		}
		if len(reasons) != want {
			t.Errorf("%d reasons, want %d: %v", len(reasons), want, reasons)
		}
		quiet := everything(20_000)
		quiet.Malformed = 0
		for r := range mustStream(t, ns, quiet).All() {
			if _, reason := config.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value}); reason != ledger.ReasonNone {
				t.Fatalf("%v %s: %q", r.Class, r.Value, reason)
			}
		}
	}
}

// identity is what the test knows of one transaction.
type identity struct {
	highest int64
	sent    map[int64]map[ledger.Payload]bool
}

// TestClassesAreWhatTheySay judges every record against all that came before it.
func TestClassesAreWhatTheySay(t *testing.T) {
	mark.Expect(t, "generate.4 correction under a revision of its own")
	ns := demo(t)
	config := ledger.NewConfig(ns, "id")
	identities, lastDay := map[ledger.IdentityRef]*identity{}, map[int32]int64{}
	reactivated, resolved := 0, 0
	for r := range mustStream(t, ns, everything(40_000)).All() {
		if r.Class == generate.Malformed {
			continue
		}
		tx, _ := config.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value})
		ref, p := ledger.IdentityRef{KeyID: tx.KeyID, TxnID: tx.TxnID}, tx.Payload
		id, known := identities[ref]
		if !known {
			id = &identity{sent: map[int64]map[ledger.Payload]bool{}}
			identities[ref] = id
		}
		latest := id.sent[id.highest]
		day := (p.ValidTime - ns.Spec.LedgerOrigin) / 86_400_000_000_000
		ok := true
		switch r.Class {
		case generate.New:
			ok = !known && p.Kind == ledger.KindNew
		case generate.Backdate:
			ok = !known && p.Kind == ledger.KindNew && day < lastDay[tx.KeyID]
		case generate.Amend, generate.Move:
			ok = known && p.Kind == ledger.KindAmend && p.Revision > id.highest
			for old := range latest {
				if old.Kind == ledger.KindCancel {
					reactivated++
				}
			}
			if len(latest) > 1 {
				resolved++
			}
		case generate.Cancel:
			ok = known && p.Kind == ledger.KindCancel && p.Revision > id.highest
		case generate.Duplicate:
			ok = latest[p]
		case generate.Stale:
			ok = known && p.Revision < id.highest && (len(id.sent[p.Revision]) == 0 || id.sent[p.Revision][p])
		case generate.Conflict:
			ok = known && p.Revision == id.highest && !latest[p]
		}
		if !ok {
			t.Fatalf("%v is none: %s after revision %d %v", r.Class, r.Value, id.highest, latest)
		}
		if id.sent[p.Revision] == nil {
			id.sent[p.Revision] = map[ledger.Payload]bool{}
		}
		id.sent[p.Revision][p] = true
		id.highest = max(id.highest, p.Revision)
		lastDay[tx.KeyID] = max(lastDay[tx.KeyID], day)
	}
	if reactivated == 0 || resolved == 0 {
		t.Errorf("%d reactivations, %d resolved conflicts", reactivated, resolved)
	}
}

// TestS3ArithmeticBound: |opening| + the sum of all |qty| of a key stays below MaxInt64, also where hardly any room is
// left, and every key that can take part does.
func TestS3ArithmeticBound(t *testing.T) {
	mark.Expect(t, "generate.2 record beyond the bound")
	const high = math.MaxInt64
	ns := namespaceOf(t, 3, 60, 100, 0, high-2, -(high - 2), high-1000, -(high - 5000), high, math.MinInt64, high-1, -high)
	config := ledger.NewConfig(ns, "id")
	sums := map[int32]*big.Int{}
	for r := range mustStream(t, ns, everything(50_000)).All() {
		if r.Class == generate.Malformed {
			continue
		}
		tx, reason := config.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value})
		if reason != ledger.ReasonNone {
			t.Fatal(reason)
		}
		if sums[tx.KeyID] == nil {
			sums[tx.KeyID] = new(big.Int).Abs(big.NewInt(ns.Spec.StockKeys[tx.KeyID].OpeningBalance))
		}
		sums[tx.KeyID].Add(sums[tx.KeyID], new(big.Int).Abs(big.NewInt(tx.Payload.Qty)))
	}
	for id, sum := range sums {
		if sum.Cmp(big.NewInt(high)) >= 0 {
			t.Errorf("key %d: %v", id, sum)
		}
	}
	if len(sums) != 6 {
		t.Errorf("%d keys take part, want those 6 that can", len(sums))
	}
}

// closes folds the story's key naively over the records of a stream up to an index.
func closes(t *testing.T, ns *manifests.Namespace, keyID int32, records int64) map[int64]int64 {
	t.Helper()
	config := ledger.NewConfig(ns, "id")
	authority := map[string]ledger.Payload{}
	n := int64(0)
	for r := range mustStream(t, ns, generate.Defaults()).All() {
		if n++; n > records {
			break
		}
		if tx, reason := config.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value}); reason == ledger.ReasonNone && tx.KeyID == keyID {
			if tx.Payload.Revision > authority[tx.TxnID].Revision {
				authority[tx.TxnID] = tx.Payload
			}
		}
	}
	closes := map[int64]int64{}
	for _, at := range authority {
		day, sum := (at.ValidTime-ns.Spec.LedgerOrigin)/86_400_000_000_000, ns.Spec.StockKeys[keyID].OpeningBalance
		for _, p := range authority {
			if (p.ValidTime-ns.Spec.LedgerOrigin)/86_400_000_000_000 <= day {
				sum += p.Qty
			}
		}
		closes[day] = sum
	}
	return closes
}

// TestSC02Story: the first key with opening 100 and threshold 60 closes at 50, 30 and 80, and after one amendment at
// 70, 50 and 100, whatever else is generated.
func TestSC02Story(t *testing.T) {
	ns := demo(t)
	story, ok := mustStream(t, ns, generate.Defaults()).Story()
	if key := ns.Spec.StockKeys[story.KeyID]; !ok || key.Item != "widget" || key.Location != "berlin" || story.AmendIndex != 10_000 {
		t.Fatalf("story %+v of %v, %v", story, key, ok)
	}
	f := func(records int64, want ...int64) {
		t.Helper()
		got := closes(t, ns, story.KeyID, records)
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("after %d records: %v, want %v", records, got, want)
		}
	}
	f(3, 50, 30, 80)
	f(story.AmendIndex, 50, 30, 80)
	f(story.AmendIndex+1, 70, 50, 100)
	f(20_000, 70, 50, 100)
	if _, ok := mustStream(t, namespaceOf(t, 1, 0, 100), generate.Defaults()).Story(); ok {
		t.Error("a story without its key")
	}
	only, two := namespaceOf(t, 1, 60, 100), generate.Options{Count: 100, Days: 2}
	for range mustStream(t, only, two).All() { // the only key tells the story and takes part in all else
	}
}

// TestKeysLimits: --keys bounds the keys that take part, the story's among them.
func TestKeysLimits(t *testing.T) {
	for keys, want := range map[int]int{0: 21, 1: 1, 2: 2, 21: 21, 100: 21} {
		o := generate.Defaults()
		o.Keys = keys
		seen := map[string]bool{}
		for r := range mustStream(t, demo(t), o).All() {
			seen[string(r.Key)] = true
		}
		if len(seen) != want || !seen[`["widget","berlin"]`] {
			t.Errorf("--keys %d: %v", keys, seen)
		}
	}
}

// TestNewStreamRefuses: what cannot be generated is an error with the flag or key in it, not a stream.
func TestNewStreamRefuses(t *testing.T) {
	if _, err := generate.NewStream(demo(t), generate.Defaults()); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	f := func(part string, ns *manifests.Namespace, change func(*generate.Options)) {
		t.Helper()
		o := generate.Defaults()
		change(&o)
		if _, err := generate.NewStream(ns, o); err == nil || !contains(err, part) {
			t.Errorf("want %q, got %v", part, err)
		}
	}
	same := func(*generate.Options) {}
	f("--count", demo(t), func(o *generate.Options) { o.Count = 0 })
	f("--days", demo(t), func(o *generate.Options) { o.Days = 0 })
	f("--days", demo(t), func(o *generate.Options) { o.Days = generate.DaysMax + 1 })
	f("--keys", demo(t), func(o *generate.Options) { o.Keys = -1 })
	f("--rate", demo(t), func(o *generate.Options) { o.Rate = -1 })
	f("--amend-share", demo(t), func(o *generate.Options) { o.Amend = -1 })
	f("add up to 1.2, more than 1", demo(t), func(o *generate.Options) { o.Malformed = Whole(85) })
	f("no room", namespaceOf(t, 1, 0, math.MaxInt64, math.MinInt64), same)
	late := namespaceOf(t, 1, 0, 1)
	late.Spec.LedgerOrigin = math.MaxInt64 - 86_400_000_000_000
	f("there are no instants", late, same)
	small := namespaceOf(t, 1, 0, 1)
	small.Spec.Source.MaxRecordBytes = 100
	f("maxRecordBytes 100", small, same)
}

// BenchmarkStream measures records per second.
func BenchmarkStream(b *testing.B) {
	ns, o := demo(b), everything(math.MaxInt32)
	s := mustStream(b, ns, o)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.Next(); !ok {
			b.Fatal("the stream ended")
		}
	}
}
