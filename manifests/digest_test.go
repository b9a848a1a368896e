package manifests_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
)

const topicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// manifestWith is a valid manifest with the given stock keys section.
func manifestWith(keys string) []byte {
	return []byte("apiVersion: amends.dev/v1\nkind: Namespace\nmetadata: {name: demo}\nspec:\n" +
		"  ledgerOrigin: \"2026-01-01T00:00:00Z\"\n  source: {topic: demo.transactions, partitions: 4}\n" +
		"  output: {topic: demo.outputs, partitions: 4}\n" + keys)
}

func mustParse(t testing.TB, data []byte) *manifests.Namespace {
	t.Helper()
	ns, problems := manifests.Parse("in.yaml", data, nil)
	if ns == nil {
		t.Fatal(problems)
	}
	return ns
}

func opening(balance string) []byte {
	return manifestWith("  stockKeys: [{item: a, location: b, openingBalance: " + balance + ", reorderThreshold: 0}]\n")
}

// TestR01DigestVectors pins digests that were computed by other means: Python's json.dumps with sorted members, no
// spaces and no ASCII escapes, hashed by hashlib.
func TestR01DigestVectors(t *testing.T) {
	for file, want := range map[string][2]string{
		"minimal": {"14fc0d2bd51bd9772eb98d3e6e93fb08c6d82b3f14f8224929597807f1c3ce75",
			"3b1cc65c19c657c3336dbac0b56f560a9ba72b580da2e84b29d062129e08f406"},
		"quoted-names": {"2deb262cf6c0af35bfed07205dbde2b4ed8710057c79b58e2855f7170b3ce0f9",
			"6860260160e0de8f5f87377933e3d1a0afb9024fda95bac846f7d94c5e23f5c0"},
	} {
		ns, problems := parseFile(t, corpus+"/good/"+file+".yaml")
		if ns == nil {
			t.Fatal(problems)
		}
		if got := [2]string{ns.NamespaceDigest(), ns.BusinessDigest(topicID)}; got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

// TestR01IntegersBeyondDoubles: two openings that are one as doubles give two digests.
func TestR01IntegersBeyondDoubles(t *testing.T) {
	a, b := mustParse(t, opening("9007199254740992")), mustParse(t, opening("9007199254740993"))
	if float64(a.Spec.StockKeys[0].OpeningBalance) != float64(b.Spec.StockKeys[0].OpeningBalance) {
		t.Fatal("the two are no good example")
	}
	if a.NamespaceDigest() == b.NamespaceDigest() || a.BusinessDigest(topicID) == b.BusinessDigest(topicID) {
		t.Error("equal digests")
	}
}

// TestR01InlineEqualsFile: the same keys inline and by file, in any order, give the same digest.
func TestR01InlineEqualsFile(t *testing.T) {
	csv := "item,location,openingBalance,reorderThreshold\nb,x,1,2\na,y,3,4\n\"q\"\"\",\"c,d\",5,6\na,x,-7,8\n"
	sum := sha256.Sum256([]byte(csv))
	byFile, problems := manifests.Parse("in.yaml",
		manifestWith(fmt.Sprintf("  stockKeysFrom: {file: sub/keys.csv, sha256: \"%x\"}\n", sum)),
		func(name string) ([]byte, error) {
			if name != "sub/keys.csv" {
				t.Errorf("asked for %q", name)
			}
			return []byte(csv), nil
		})
	if byFile == nil {
		t.Fatal(problems)
	}
	inline := mustParse(t, manifestWith(`  stockKeys:
    - {item: a, location: x, openingBalance: -7, reorderThreshold: 8}
    - {item: 'q"', location: "c,d", openingBalance: 5, reorderThreshold: 6}
    - {reorderThreshold: 4, item: a, location: "y", openingBalance: 3}
    - {item: b, location: x, openingBalance: 1, reorderThreshold: 2}
`))
	if byFile.NamespaceDigest() != inline.NamespaceDigest() || byFile.BusinessDigest(topicID) != inline.BusinessDigest(topicID) {
		t.Errorf("%v\n%v", byFile.Spec, inline.Spec)
	}
}

// TestR02WhatDigestsCover changes each field in turn: the namespace digest sees all of spec, the business digest what
// results depend on, neither the name.
func TestR02WhatDigestsCover(t *testing.T) {
	mark.Expect(t, "R02 business digest")
	base := func() manifests.Spec {
		return manifests.Spec{Source: manifests.Source{Topic: "in", Partitions: 4}, Output: manifests.Output{Topic: "out", Partitions: 4},
			StockKeys: []manifests.StockKey{{Item: "a", Location: "b", OpeningBalance: 1, ReorderThreshold: 2}}}
	}
	build := func(name string, change func(*manifests.Spec)) *manifests.Namespace {
		spec := base()
		change(&spec)
		ns, err := manifests.New(name, spec)
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
	same := func(*manifests.Spec) {}
	plain := build("demo", same)
	if other := build("other", same); other.NamespaceDigest() != plain.NamespaceDigest() {
		t.Error("the name is in the namespace digest")
	}
	if plain.BusinessDigest("x") == plain.BusinessDigest("y") {
		t.Error("the source topic ID is not in the business digest")
	}
	for field, c := range map[string]struct {
		change   func(*manifests.Spec)
		business bool
	}{
		"ledgerOrigin":      {func(s *manifests.Spec) { s.LedgerOrigin++ }, true},
		"source.topic":      {func(s *manifests.Spec) { s.Source.Topic = "in2" }, false},
		"source.partitions": {func(s *manifests.Spec) { s.Source.Partitions++ }, true},
		"maxRecordBytes":    {func(s *manifests.Spec) { s.Source.MaxRecordBytes = 1 }, true},
		"output.topic":      {func(s *manifests.Spec) { s.Output.Topic = "out2" }, false},
		"output.partitions": {func(s *manifests.Spec) { s.Output.Partitions++ }, false},
		"item":              {func(s *manifests.Spec) { s.StockKeys[0].Item = "c" }, true},
		"location":          {func(s *manifests.Spec) { s.StockKeys[0].Location = "c" }, true},
		"openingBalance":    {func(s *manifests.Spec) { s.StockKeys[0].OpeningBalance++ }, true},
		"reorderThreshold":  {func(s *manifests.Spec) { s.StockKeys[0].ReorderThreshold++ }, true},
		"one more key": {func(s *manifests.Spec) {
			s.StockKeys = append(s.StockKeys, manifests.StockKey{Item: "z", Location: "z"})
		}, true},
	} {
		changed := build("demo", c.change)
		if changed.NamespaceDigest() == plain.NamespaceDigest() {
			t.Errorf("%s is not in the namespace digest", field)
		}
		if differs := changed.BusinessDigest("x") != plain.BusinessDigest("x"); differs != c.business {
			t.Errorf("%s in the business digest: %v, want %v", field, differs, c.business)
		}
	}
}

// TestFromSpec: what is stored of a namespace gives the same namespace again, also after a database has reordered the
// members and the keys.
func TestFromSpec(t *testing.T) {
	for _, path := range corpusFiles(t, "good") {
		ns, problems := parseFile(t, path)
		if ns == nil {
			t.Fatal(problems)
		}
		var members map[string]any
		if err := json.Unmarshal(ns.SpecJSON(), &members); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		reordered, err := json.MarshalIndent(members, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		keys := slices.Clone(ns.Spec.StockKeys)
		slices.Reverse(keys)
		again, err := manifests.FromSpec(ns.Name, reordered, keys)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(ns, again, cmpopts.IgnoreUnexported(manifests.Namespace{})); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if describe(ns) != describe(again) {
			t.Errorf("%s: %s", path, describe(again))
		}
	}
}

// TestFromSpecRefuses: a damaged stored spec is an error, another semantics version a distinguishable one (R03).
func TestFromSpecRefuses(t *testing.T) {
	mark.Expect(t, "R03 stored under another semantics version")
	ns := mustParse(t, opening("1"))
	good, keys := string(ns.SpecJSON()), ns.Spec.StockKeys
	if _, err := manifests.FromSpec("demo", []byte(good), keys); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	damage := func(old, with string) []byte {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return []byte(strings.Replace(good, old, with, 1))
	}
	for name, spec := range map[string][]byte{
		"not JSON": []byte("{"), "number": damage(`"partitions":"4"`, `"partitions":4`), "unknown": damage(`"topic"`, `"topics"`),
		"empty integer": damage(`"1767225600000000000"`, `""`), "range": damage(`"partitions":"4"`, `"partitions":"0"`),
		"int32": damage(`"partitions":"4"`, `"partitions":"4294967300"`), "default": damage(`"partitioner":"murmur2",`, ""),
		"topic": damage(`"demo.outputs"`, `"demo.transactions"`), "partitioner": damage("murmur2", "crc32"),
	} {
		if _, err := manifests.FromSpec("demo", spec, keys); err == nil || errors.Is(err, manifests.ErrSemanticsVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := manifests.FromSpec("demo", damage(`"semanticsVersion":"1"`, `"semanticsVersion":"2"`), keys); !errors.Is(err, manifests.ErrSemanticsVersion) {
		t.Errorf("version: %v", err)
	}
	for name, bad := range map[string][]manifests.StockKey{"none": nil, "twice": append(keys, keys[0]), "empty": {{Item: "a"}},
		"NUL": {{Item: "a\x00", Location: "b"}}, "UTF-8": {{Item: "a\xff", Location: "b"}}} {
		if _, err := manifests.FromSpec("demo", []byte(good), bad); err == nil {
			t.Errorf("%s keys: accepted", name)
		}
	}
}

// TestKeyID looks up every key and near misses, concurrently, with and without the index.
func TestKeyID(t *testing.T) {
	spec := manifests.Spec{Source: manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1}}
	for i := range 1000 {
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: fmt.Sprint("i", i%37), Location: fmt.Sprint("l", i)})
	}
	spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: "ab", Location: "c"}, manifests.StockKey{Item: "a", Location: "bc"})
	ns, err := manifests.New("demo", spec)
	if err != nil {
		t.Fatal(err)
	}
	bare := &manifests.Namespace{Name: ns.Name, Spec: ns.Spec}
	var wg sync.WaitGroup
	for _, n := range []*manifests.Namespace{ns, ns, bare, bare} {
		wg.Go(func() {
			for i, k := range n.Spec.StockKeys {
				if id, ok := n.KeyID(k.Item, k.Location); !ok || int(id) != i {
					t.Errorf("%v: %d, %v, want %d", k, id, ok, i)
				}
				if _, ok := n.KeyID(k.Item+k.Location, ""); ok {
					t.Errorf("%v found as one part", k)
				}
				if _, ok := n.KeyID(k.Location, k.Item); ok {
					t.Errorf("%v found the wrong way round", k)
				}
			}
		})
	}
	wg.Wait()
	if _, ok := (&manifests.Namespace{}).KeyID("a", "b"); ok {
		t.Error("found in nothing")
	}
}

// millionKeys is a manifest with its stock-key file of n keys, in no order.
func millionKeys(n int) (manifest, csv []byte) {
	var b strings.Builder
	b.WriteString("item,location,openingBalance,reorderThreshold\n")
	for i := range n {
		j := i * 7_919 % n // spreads the keys; 7,919 is prime to n
		fmt.Fprintf(&b, "item-%06d,warehouse-%02d,%d,%d\n", j/40, j%40, 100+j, 60)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return manifestWith("  stockKeysFrom: {file: keys.csv, sha256: " + `"` + hex.EncodeToString(sum[:]) + `"` + "}\n"), []byte(b.String())
}

// TestMillionKeysLoad prints what a million keys cost and fails where it is not seconds and hundreds of megabytes.
func TestMillionKeysLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a million keys take seconds")
	}
	const n = 1_000_000
	manifest, csv := millionKeys(n)
	var before, after, kept runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	ns, problems := manifests.Parse("in.yaml", manifest, func(string) ([]byte, error) { return csv, nil })
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&kept)
	if ns == nil {
		t.Fatal(problems)
	}
	start = time.Now()
	digest := ns.NamespaceDigest()
	digestTook := time.Since(start)
	const mib = 1 << 20
	keptMiB := (int64(kept.HeapAlloc) - int64(before.HeapAlloc)) / mib
	allocated := (after.TotalAlloc - before.TotalAlloc) / mib
	t.Logf("%d keys, %d MiB file: %v to parse, %d MiB allocated in all, %d MiB kept; digest %s in %v",
		n, len(csv)/mib, took.Round(time.Millisecond), allocated, keptMiB, digest[:8], digestTook.Round(time.Millisecond))
	if len(ns.Spec.StockKeys) != n || took > 20*time.Second || allocated > 400 || keptMiB > 200 {
		t.Error("too slow or too large")
	}
	if id, ok := ns.KeyID("item-012345", "warehouse-07"); !ok || ns.Spec.StockKeys[id].OpeningBalance != 100+12345*40+7 {
		t.Error("a key is not found")
	}
	runtime.KeepAlive(ns)
	runtime.KeepAlive(csv)
}

// TestLargestInlineManifest: as many keys as fit into a manifest itself load in seconds too.
func TestLargestInlineManifest(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the largest manifest takes seconds")
	}
	var b strings.Builder
	b.WriteString("  stockKeys:\n")
	for i := 0; b.Len() < manifests.ManifestBytesMax-1000; i++ {
		fmt.Fprintf(&b, "    - {item: item-%d, location: berlin, openingBalance: 100, reorderThreshold: 60}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	ns := mustParse(t, manifestWith(b.String()))
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%d keys inline: %v, %d MiB allocated in all", len(ns.Spec.StockKeys), took.Round(time.Millisecond), allocated)
	if took > 20*time.Second || allocated > 1000 {
		t.Error("too slow or too large")
	}
}

// BenchmarkParseMillionKeys measures the load of a stock-key file.
func BenchmarkParseMillionKeys(b *testing.B) {
	manifest, csv := millionKeys(1_000_000)
	b.SetBytes(int64(len(csv)))
	b.ReportAllocs()
	for b.Loop() {
		if ns, problems := manifests.Parse("in.yaml", manifest, func(string) ([]byte, error) { return csv, nil }); ns == nil {
			b.Fatal(problems)
		}
	}
}

// BenchmarkKeyID measures one look-up among a million.
func BenchmarkKeyID(b *testing.B) {
	manifest, csv := millionKeys(1_000_000)
	ns, _ := manifests.Parse("in.yaml", manifest, func(string) ([]byte, error) { return csv, nil })
	keys := ns.Spec.StockKeys
	i := 0
	for b.Loop() {
		k := &keys[i]
		if _, ok := ns.KeyID(k.Item, k.Location); !ok {
			b.Fatal(k)
		}
		i = (i + 7_919) % len(keys)
	}
}

// TestInstantAgreesWithTime compares ledger origins over the whole range with the standard library's calendar.
func TestInstantAgreesWithTime(t *testing.T) {
	step := int64(math.MaxInt64 / 500)
	for ns := int64(math.MinInt64); ; ns += step {
		for _, zone := range []int{0, 23*3600 + 59*60, -(23*3600 + 59*60), 5400} {
			text := time.Unix(0, ns).In(time.FixedZone("", zone)).Format("2006-01-02T15:04:05.000000000Z07:00")
			got, problems := manifests.Parse("in.yaml", []byte(strings.Replace(string(opening("1")), "2026-01-01T00:00:00Z", text, 1)), nil)
			if got == nil || got.Spec.LedgerOrigin != ns {
				t.Fatalf("%s: %v, want %d", text, problems, ns)
			}
		}
		if ns > math.MaxInt64-step {
			return
		}
	}
}

// FuzzParse: never a panic; either problems or a namespace; parsing again and storing give the same digest.
func FuzzParse(f *testing.F) {
	for _, kind := range []string{"good", "bad"} {
		entries, err := os.ReadDir(corpus + "/" + kind)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".yaml") {
				data, err := os.ReadFile(corpus + "/" + kind + "/" + e.Name())
				if err != nil {
					f.Fatal(err)
				}
				f.Add(data, []byte("item,location,openingBalance,reorderThreshold\na,b,1,2\n"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data, csv []byte) {
		read := func(string) ([]byte, error) { return csv, nil }
		ns, problems := manifests.Parse("in.yaml", data, read)
		if (ns == nil) == (len(problems) == 0) {
			t.Fatalf("namespace %v with problems %v", ns, problems)
		}
		if ns == nil {
			if again := problems.Error(); again == "" || strings.Count(again, "\n") != len(problems)-1 {
				t.Fatalf("messages %q", again)
			}
			return
		}
		again, _ := manifests.Parse("in.yaml", data, read)
		stored, err := manifests.FromSpec(ns.Name, ns.SpecJSON(), ns.Spec.StockKeys)
		if err != nil || again.NamespaceDigest() != ns.NamespaceDigest() || stored.NamespaceDigest() != ns.NamespaceDigest() {
			t.Fatalf("digest not stable: %v", err)
		}
	})
}
