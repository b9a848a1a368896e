package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/memory"
	"amends.dev/amends/stages/worker/workertest"
)

const topicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// content is a dataset of one partition and two keys before it is written, key 1 BLOCKED.
type content struct {
	authority  []authorityColumns
	evidence   []evidenceColumns
	conflict   []conflictColumns
	day        []dayColumns
	status     []statusColumns
	quarantine []quarantineColumns
	index      index
	codec      parquet.WriterOption
}

func config(t *testing.T) *ledger.Config {
	t.Helper()
	ns, err := manifests.New("n", manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "a", Location: "x", OpeningBalance: 10, ReorderThreshold: 5}, {Item: "b", Location: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.NewConfig(ns, topicID)
}

func whole(cfg *ledger.Config) *content {
	sum := sha256.Sum256([]byte("v"))
	return &content{
		authority: []authorityColumns{
			{Key: 0, TxnID: "t1", Revision: 2, Kind: 2, ValidTime: 20456 * 86_400_000_000_000, Qty: -7, Offset: 1},
			{Key: 1, TxnID: "t1", Revision: 1, Kind: 1, Qty: 5, Ambiguous: true, Offset: 2},
		},
		evidence:   []evidenceColumns{{Key: 0, TxnID: "t1", Revision: 1, Kind: 1, Qty: 3, Offset: 0}, {Key: 1, TxnID: "t1", Revision: 1, Kind: 1, Qty: 6, Offset: 3}},
		conflict:   []conflictColumns{{Key: 1, TxnID: "t1", Revision: 1, Highest: true, Offset: 3}},
		day:        []dayColumns{{Key: 0, Day: 20456, Active: 1, Close: 3, Alert: true, CauseTxnID: "t1", CauseRevision: 2, CauseOffset: 1}},
		status:     []statusColumns{{Key: 0, CauseTxnID: "t1", CauseRevision: 1, CauseOffset: 0}, {Key: 1, CauseTxnID: "t1", CauseRevision: 1, CauseOffset: 3}},
		quarantine: []quarantineColumns{{Offset: 4, Reason: "invalid_json", KeyLength: -1, RawValue: []byte("v"), ValueLength: 1, ValueSHA256: sum[:]}},
		index: index{Version: 1, BusinessDigest: cfg.Namespace().BusinessDigest(topicID), TopicID: topicID, Ends: []int64{6}, Engine: "e", Decoder: "d",
			Accepted: []int64{4}, Rejected: []int64{1}},
		codec: parquet.Compression(&parquet.Zstd),
	}
}

// write publishes the content into a new folder.
func (c *content) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c.index.Files = nil
	file(t, dir, c, tableAuthority, c.authority)
	file(t, dir, c, tableEvidence, c.evidence)
	file(t, dir, c, tableConflict, c.conflict)
	file(t, dir, c, tableDay, c.day)
	file(t, dir, c, tableStatus, c.status)
	file(t, dir, c, tableQuarantine, c.quarantine)
	c.save(t, dir)
	return dir
}

func (c *content) save(t *testing.T, dir string) {
	t.Helper()
	text, err := json.Marshal(c.index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, indexName), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func file[T any](t *testing.T, dir string, c *content, table string, rows []T) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, c.codec)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	name := fmt.Sprintf("%s-00000.parquet", table)
	c.index.Files = append(c.index.Files, File{Name: name, Table: table, Rows: int64(len(rows)), SHA256: hex.EncodeToString(sum[:])})
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// load opens and loads a folder into an empty store.
func load(t *testing.T, cfg *ledger.Config, dir string) (workertest.Tables, error) {
	t.Helper()
	store := workertest.NewStore(1)
	set, err := Open(dir, cfg)
	if err != nil {
		return store.Tables(), err
	}
	loader, err := rebuild.NewLoader(cfg, set, memory.Store{Worker: store}, "rebuild/n", []int64{6})
	if err == nil {
		_, err = loader.Partition(t.Context(), 0)
	}
	return store.Tables(), err
}

// TestR26Load is the undamaged twin of all below: what the rows become.
func TestR26Load(t *testing.T) {
	mark.Expect(t, "R26 blocked key loaded")
	cfg := config(t)
	tables, err := load(t, cfg, whole(cfg).write(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ledger.DayRow{{KeyID: 0, Day: 20456, Active: 1, Close: 3, BalanceVersion: 1, AlertVersion: 1, AlertPresent: true, AlertClose: 3}}, tables.Days); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ledger.KeyRow{{KeyID: 0, StatusVersion: 1}, {KeyID: 1, StatusVersion: 1, Conflicts: []ledger.ConflictRef{{TxnID: "t1", Revision: 1}}}}, tables.Keys); diff != "" {
		t.Error(diff)
	}
	if len(tables.Authority) != 2 || len(tables.Evidence) != 2 || len(tables.Conflicts) != 1 || len(tables.Quarantine) != 1 {
		t.Errorf("%+v", tables)
	}
	want := []string{
		`{"cause":{"revision":2,"txn_id":"t1"},"namespace":"n","output_id":["n","balance","a","x","2026-01-03"],"payload":{"close":3,"day":"2026-01-03","item":"a","location":"x"},"schema_version":1,"source":{"offset":1,"partition":0,"topic_id":"` + topicID + `"},"type":"BalanceStated","version":1}`,
		`{"cause":{"revision":2,"txn_id":"t1"},"namespace":"n","output_id":["n","alert","a","x","2026-01-03"],"payload":{"close":3,"day":"2026-01-03","item":"a","location":"x","threshold":5},"schema_version":1,"source":{"offset":1,"partition":0,"topic_id":"` + topicID + `"},"type":"AlertRaised","version":1}`,
		`{"cause":{"revision":1,"txn_id":"t1"},"namespace":"n","output_id":["n","key-status","a","x"],"payload":{"conflicts":[],"item":"a","location":"x","status":"READY"},"schema_version":1,"source":{"offset":0,"partition":0,"topic_id":"` + topicID + `"},"type":"KeyStatusStated","version":1}`,
		`{"cause":{"revision":1,"txn_id":"t1"},"namespace":"n","output_id":["n","key-status","b","x"],"payload":{"conflicts":[{"revision":1,"txn_id":"t1"}],"item":"b","location":"x","status":"BLOCKED"},"schema_version":1,"source":{"offset":3,"partition":0,"topic_id":"` + topicID + `"},"type":"KeyStatusStated","version":1}`,
	}
	var got []string
	for _, row := range tables.Outbox {
		got = append(got, string(row.Value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRebuild3DamagedDataset: a dataset that contradicts itself, its files or the namespace loads nothing (B101, B103).
func TestRebuild3DamagedDataset(t *testing.T) {
	mark.Expect(t, "rebuild.3 rows out of order")
	cfg := config(t)
	for name, damage := range map[string]func(c *content){
		"other layout":              func(c *content) { c.index.Version = 2 },
		"other configuration":       func(c *content) { c.index.BusinessDigest = fmt.Sprintf("%064d", 0) },
		"other topic":               func(c *content) { c.index.TopicID = "x" },
		"other H":                   func(c *content) { c.index.Ends[0] = 7 },
		"no engine":                 func(c *content) { c.index.Engine = "" },
		"more records than offsets": func(c *content) { c.index.Accepted[0] = 6 },
		"counts that differ":        func(c *content) { c.index.Rejected[0] = 0 },
		"rows out of order":         func(c *content) { c.authority[0], c.authority[1] = c.authority[1], c.authority[0] },
		"a row twice":               func(c *content) { c.day = append(c.day, c.day[0]) },
		"key out of range":          func(c *content) { c.status[1].Key = 2 },
		"revision 0":                func(c *content) { c.authority[0].Revision = 0 },
		"kind 4":                    func(c *content) { c.evidence[0].Kind = 4 },
		"CANCEL with a quantity":    func(c *content) { c.authority[0].Kind = 3 },
		"no transaction":            func(c *content) { c.conflict[0].TxnID = "" },
		"offset beyond H":           func(c *content) { c.evidence[1].Offset = 6 },
		"cause beyond H":            func(c *content) { c.status[1].CauseOffset = 6 },
		"day without activity":      func(c *content) { c.day[0].Active = 0 },
		"day of a BLOCKED key":      func(c *content) { c.day[0].Key = 1 },
		"day without status":        func(c *content) { c.status = c.status[1:] },
		"unknown reason":            func(c *content) { c.quarantine[0].Reason = "because" },
		"other raw bytes":           func(c *content) { c.quarantine[0].RawValue = []byte("w") },
		"null with bytes":           func(c *content) { c.quarantine[0].RawKey = []byte("k") },
		"a codec without bounds":    func(c *content) { c.codec = parquet.Compression(&parquet.Lz4Raw) },
	} {
		c := whole(cfg)
		damage(c)
		tables, err := load(t, cfg, c.write(t))
		if !errors.Is(err, rebuild.ErrDataset) {
			t.Errorf("%s: %v", name, err)
		}
		if len(tables.Authority)+len(tables.Days)+len(tables.Keys)+len(tables.Outbox) > 0 || tables.Partitions[0].NextOffset != 0 {
			t.Errorf("%s: something was loaded", name)
		}
	}
}

// TestDamagedFiles: files that are gone, changed, or of another shape.
func TestDamagedFiles(t *testing.T) {
	cfg := config(t)
	c := whole(cfg)
	for name, damage := range map[string]func(dir string) error{
		"a file gone": func(dir string) error { return os.Remove(filepath.Join(dir, "day-00000.parquet")) },
		"a bit changed": func(dir string) error {
			path := filepath.Join(dir, "authority-00000.parquet")
			data, err := os.ReadFile(path)
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(path, data, 0o600)
			}
			return err
		},
		"other columns": func(dir string) error {
			c.index.Files = c.index.Files[:0]
			file(t, dir, c, tableAuthority, c.evidence)
			first := c.index.Files[0]
			whole := whole(cfg)
			_ = whole.write(t)
			c.index.Files = append([]File{first}, whole.index.Files[1:]...)
			c.save(t, dir)
			return nil
		},
		"fewer rows than described": func(dir string) error {
			c.index.Files[0].Rows = 3
			c.save(t, dir)
			return nil
		},
		"no JSON": func(dir string) error { return os.WriteFile(filepath.Join(dir, indexName), []byte("{"), 0o600) },
		"an unknown member": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, indexName), []byte(`{"version":1,"x":1}`), 0o600)
		},
	} {
		c = whole(cfg)
		dir := c.write(t)
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := load(t, cfg, dir); !errors.Is(err, rebuild.ErrDataset) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.TempDir(), cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestPagesAndGroups: rows come back as they were written, whatever pages and row groups they lie in.
func TestPagesAndGroups(t *testing.T) {
	var rows []dayColumns
	for i := range int32(5000) {
		rows = append(rows, dayColumns{Key: i / 50, Day: i % 50, Active: int64(i), Close: -int64(i) << 20, Alert: i%3 == 0,
			CauseTxnID: fmt.Sprint("t", i*i), CauseRevision: int64(i) + 1, CauseOffset: int64(i) * 7})
	}
	for _, options := range [][]parquet.WriterOption{
		{parquet.PageBufferSize(100)}, {parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(777)}, {parquet.Compression(&parquet.Zstd)},
		{parquet.DataPageVersion(1), parquet.PageBufferSize(500)},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := parquet.WriteFile(path, rows, options...); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []dayColumns
		err = stream(t.Context(), file, &File{Rows: int64(len(rows))}, viewDay, func(row *dayColumns, _ error) bool { got = append(got, *row); return true })
		_ = file.Close() // it was only read
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestPassedOn: a dataset whose partitions come one by one is loaded like a published one; what is said of a partition is
// checked, and its files go when it is not needed any more.
func TestPassedOn(t *testing.T) {
	cfg := config(t)
	c := whole(cfg)
	dir, x := c.write(t), c.index
	meta := rebuild.Meta{BusinessDigest: x.BusinessDigest, TopicID: x.TopicID, Ends: x.Ends, Engine: x.Engine, Decoder: x.Decoder}
	set := Begin(dir, cfg, meta)
	for name, err := range map[string]error{
		"no such partition": set.Add(1, x.Accepted[0], x.Rejected[0], x.Files),
		"a file less":       set.Add(0, x.Accepted[0], x.Rejected[0], x.Files[1:]),
		"other counts":      set.Add(0, x.Accepted[0], x.Rejected[0]+1, x.Files),
	} {
		if !errors.Is(err, rebuild.ErrDataset) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := set.Add(0, x.Accepted[0], x.Rejected[0], x.Files); err != nil {
		t.Fatal(err)
	}
	loader, err := rebuild.NewLoader(cfg, set, memory.Store{Worker: workertest.NewStore(1)}, "rebuild/n", x.Ends)
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := loader.Partition(t.Context(), 0); err != nil || !loaded || set.Rows() != set.RowsOf(0) || set.Rows() != 9 {
		t.Fatalf("loaded %t, %d rows: %v", loaded, set.Rows(), err)
	}
	if err := set.Remove(0); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.parquet")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
