package arrow_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/vectorized/snapshot"
)

// told is one record of a shape: txn_id, revision, kind, valid_time, qty and the number of its stock key.
type told struct {
	key       int64
	txn       string
	revision  int64
	kind      string
	validTime int64
	qty       int64
}

// shape is a history that would cost a careless engine the square of its records.
type shape struct {
	// keys is the number of stock keys for n records; 0 stands for one.
	keys func(n int64) int64
	// record is the i-th of n.
	record func(i, n int64) told
	// shows says whether a result has what the shape is about.
	shows func(sum arrow.Checksum, p *projection.Projection, n int64) bool
}

// monday is 2026-01-05, in nanoseconds since the Unix epoch.
const (
	monday = 1_767_571_200_000_000_000
	oneDay = 86_400_000_000_000
)

// shapes are all of them, by name.
var shapes = map[string]shape{
	"revisions of one identity": {
		record: func(i, n int64) told { // odd ones upwards, then even ones downwards
			if i < n/2 {
				return told{0, "hot", 2*i + 1, "AMEND", monday + i%40*oneDay, i}
			}
			return told{0, "hot", 2 * (n - i), "AMEND", monday + i%40*oneDay, i}
		},
		shows: func(s arrow.Checksum, _ *projection.Projection, n int64) bool {
			return s.Identities == 1 && s.Records == n && s.Balances == 1 && s.LowerConflicts == 0
		},
	},
	"each revision of one identity in conflict": {
		record: func(i, _ int64) told { return told{0, "hot", i/2 + 1, "AMEND", monday, i} },
		shows: func(s arrow.Checksum, _ *projection.Projection, n int64) bool {
			return s.LowerConflicts == n/2-1 && s.HighConflicts == 1 && s.BlockedKeys == 1
		},
	},
	"all records one identity and revision, in conflict": {
		record: func(i, _ int64) told { return told{0, "hot", 1, "NEW", monday, i} },
		shows: func(s arrow.Checksum, _ *projection.Projection, _ int64) bool {
			return s.Identities == 1 && s.HighConflicts == 1 && s.BlockedKeys == 1 && s.Duplicates == 0
		},
	},
	"all records exact duplicates": {
		record: func(_, _ int64) told { return told{0, "a transaction ID of many bytes", 1, "NEW", monday, 5} },
		shows:  func(s arrow.Checksum, _ *projection.Projection, n int64) bool { return s.Duplicates == n-1 },
	},
	"all records on one key": {
		record: func(i, _ int64) told {
			return told{0, fmt.Sprint("t", i), 1, "NEW", monday + i*7919%3650*oneDay, i%121 - 60}
		},
		shows: func(s arrow.Checksum, _ *projection.Projection, n int64) bool {
			return s.StatusKeys == 1 && s.Identities == n
		},
	},
	"all records on one day": {
		keys: func(int64) int64 { return 100 },
		record: func(i, _ int64) told {
			return told{i % 100, fmt.Sprint("a long transaction ID ", i), 1, "NEW", monday + i*7919%oneDay, i%121 - 60}
		},
		shows: func(s arrow.Checksum, _ *projection.Projection, _ int64) bool { return s.Balances == 100 },
	},
	"from 1677 to 2262": {
		record: func(i, n int64) told {
			at := uint64(1<<63) + math.MaxUint64/uint64(n-1)*uint64(i) // wraps: from the lowest int64 to the highest
			if i == n-1 {
				return told{0, "last", 1, "NEW", math.MaxInt64, 1}
			}
			return told{0, fmt.Sprint("t", i*7919%n), i/n + 1, "NEW", int64(at), 1}
		},
		shows: func(_ arrow.Checksum, p *projection.Projection, _ int64) bool {
			days := p.Balances
			return days[0].Day == "1677-09-21" && days[len(days)-1].Day == "2262-04-11"
		},
	},
	"every record another item": {
		keys:   func(n int64) int64 { return n },
		record: func(i, _ int64) told { return told{i, "t", 1, "NEW", monday, -1} },
		shows: func(s arrow.Checksum, _ *projection.Projection, n int64) bool {
			return s.StatusKeys == n && s.Alerts == n
		},
	},
	"sums beyond int64 on each day": {
		record: func(i, _ int64) told { // as much down as up, but day by day
			return told{0, fmt.Sprint("t", i), 1, "NEW", monday + i%500*oneDay, largest(i%500 < 250)}
		},
		shows: func(s arrow.Checksum, p *projection.Projection, _ int64) bool {
			return s.Balances == 0 && len(p.OutOfDomain) > 400
		},
	},
	"sums beyond int64 within one day": {
		record: func(i, n int64) told { return told{0, fmt.Sprint("t", i), 1, "NEW", monday, largest(i < n/2)} },
		shows: func(_ arrow.Checksum, p *projection.Projection, n int64) bool {
			return len(p.OutOfDomain) == 0 && p.Balances[0].Close == -(n/2)
		},
	},
}

// largest is the largest quantity in one direction.
func largest(up bool) int64 {
	if up {
		return math.MaxInt64
	}
	return math.MinInt64
}

// namespace has the stock keys of a shape; all instants are behind its origin.
func (s shape) namespace(t testing.TB, n int64) *manifests.Namespace {
	t.Helper()
	spec := manifests.Spec{
		LedgerOrigin: math.MinInt64,
		Source:       manifests.Source{Topic: "hostile.transactions", Partitions: 1}, Output: manifests.Output{Topic: "hostile.outputs", Partitions: 1},
	}
	keys := int64(1)
	if s.keys != nil {
		keys = s.keys(n)
	}
	for k := range keys {
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: fmt.Sprintf("item-%07d", k), Location: "here"})
	}
	ns, err := manifests.New("hostile", spec)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// records are all n.
func (s shape) records(n int64) []engine.Record {
	all := make([]engine.Record, n)
	for i := range all {
		r := s.record(int64(i), n)
		item := fmt.Sprintf("item-%07d", r.key)
		all[i] = engine.Record{Offset: int64(i), Key: decode.BrokerKey(item, "here"), Value: fmt.Appendf(nil,
			`{"txn_id":"%s","revision":%d,"kind":"%s","stock_key":{"item":"%s","location":"here"},"valid_time":"%s","qty":%d,"source_time":"2026-01-01T00:00:00Z"}`,
			r.txn, r.revision, r.kind, item, time.Unix(0, r.validTime).UTC().Format(time.RFC3339Nano), r.qty)}
	}
	return all
}

// written is a snapshot of n records of a shape.
func (s shape) written(t testing.TB, n int64) (*manifests.Namespace, []engine.Record, *snapshot.Snapshot) {
	t.Helper()
	ns, records := s.namespace(t, n), s.records(n)
	dir := filepath.Join(t.TempDir(), "set")
	w, err := snapshot.Create(dir, ns, snapshot.Meta{
		Namespace: ns.Name, NamespaceDigest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest("id"), TopicID: "id",
		Starts: []int64{0}, Ends: []int64{n}, Isolation: snapshot.ReadCommitted,
	})
	if err == nil {
		err = w.Append(records)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	set, err := snapshot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return ns, records, set
}

// TestHostileShapes computes each shape from typed columns, in passes, from raw files and from records: the result is that of
// the reference engine, and shows what the shape is about. 10,000 records of each, 10,000 revisions of one identity among
// them.
func TestHostileShapes(t *testing.T) {
	const n = 10_000
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			ns, records, set := s.written(t, n)
			e, want := arrow.Engine{Memory: mem}, oracletest.Compute(t, reference.Engine{}, ns, records)
			for _, o := range []arrow.Options{{Workers: 1}, {Workers: 8, Memory: 1}} {
				r, err := e.ComputeColumns(t.Context(), ns, set.Typed(), o)
				if err != nil {
					t.Fatal(err)
				}
				p := r.Projection()
				oracletest.Equal(t, fmt.Sprintf("typed, %+v", o), p, want)
				if len(p.Rejections) > 0 || !s.shows(r.Checksum(), p, n) {
					t.Errorf("the result does not show the shape: %+v, %d rejections", r.Checksum(), len(p.Rejections))
				}
			}
			raw, err := set.Raw()
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.ComputeRaw(context.Background(), ns, raw, arrow.Options{Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			oracletest.Equal(t, "raw", r.Projection(), want)
			oracletest.Equal(t, "records", oracletest.Compute(t, e, ns, records), want)
		})
	}
}
