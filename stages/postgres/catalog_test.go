package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
)

const (
	sourceID = "AAAAAAAAAAAAAAAAAAAAAQ"
	outputID = "AAAAAAAAAAAAAAAAAAAAAg"
)

// parsed is a valid namespace; another output gives it a topic of its own.
func parsed(t *testing.T, name, output string) *manifests.Namespace {
	t.Helper()
	spec := testNamespace(name, 3).Spec
	spec.Output.Topic = output
	ns, err := manifests.New(name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// catalog returns a migrated catalog and its pool.
func catalog(t *testing.T) (*Catalog, *Pool) {
	t.Helper()
	pool := open(t, pg.New(t), CatalogSchema)
	c := NewCatalog(pool)
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, pool
}

func record(t *testing.T, c *Catalog, ns *manifests.Namespace) {
	t.Helper()
	if err := c.Record(t.Context(), ns, sourceID, outputID); err != nil {
		t.Fatal(err)
	}
}

func TestCatalogOfAnEmptyDatabase(t *testing.T) {
	c := NewCatalog(open(t, pg.New(t), CatalogSchema))
	if entries, err := c.List(t.Context()); len(entries) != 0 || err != nil {
		t.Fatalf("list = %v, %v; want nothing", entries, err)
	}
	if _, err := c.Load(t.Context(), "demo"); !errors.Is(err, ErrNotApplied) {
		t.Fatalf("load = %v, want ErrNotApplied", err)
	}
	if exists, err := c.SchemaExists(t.Context(), CatalogSchema); exists || err != nil {
		t.Fatalf("reading created the schema: %t, %v", exists, err)
	}
}

func TestRecordAndLoad(t *testing.T) {
	c, _ := catalog(t)
	ns := parsed(t, "demo", "out")
	record(t, c, ns)
	got, err := c.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ns.Spec, got.Namespace.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	want := Entry{Name: "demo", SemanticsVersion: 1, NamespaceDigest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest(sourceID),
		SourceTopic: "in", SourceTopicID: sourceID, OutputTopic: "out", OutputTopicID: outputID,
		StateSchema: "amends_demo", ViewSchema: "amends_demo_view", BuiltBy: "stream"}
	if diff := cmp.Diff(want, got.Entry, cmpopts.IgnoreFields(Entry{}, "AppliedAt")); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	record(t, c, parsed(t, "another", "out2"))
	entries, err := c.List(t.Context())
	if err != nil || len(entries) != 2 || entries[0].Name != "another" || entries[1].Name != "demo" {
		t.Fatalf("list = %v, %v", entries, err)
	}
	if _, err := c.Load(t.Context(), "no"); !errors.Is(err, ErrNotApplied) {
		t.Errorf("load of an unknown name = %v, want ErrNotApplied", err)
	}
	if _, err := c.Load(t.Context(), ""); !errors.Is(err, ErrNotApplied) {
		t.Errorf("load of no name = %v, want ErrNotApplied", err)
	}
}

// TestR04NothingIsSharedOrHalfRecorded: a refused record leaves neither row nor schema.
func TestR04NothingIsSharedOrHalfRecorded(t *testing.T) {
	c, pool := catalog(t)
	record(t, c, parsed(t, "demo", "out"))
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA amends_squatted`); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		ns   *manifests.Namespace
		want error
	}{
		{parsed(t, "demo", "other"), ErrAlreadyApplied},
		{parsed(t, "second", "out"), ErrAlreadyApplied},
		{parsed(t, "squatted", "third"), ErrSchemaExists},
	} {
		if err := c.Record(t.Context(), tc.ns, sourceID, outputID); !errors.Is(err, tc.want) {
			t.Errorf("record %s = %v, want %v", tc.ns.Name, err, tc.want)
		}
	}
	if exists, err := c.SchemaExists(t.Context(), "amends_second"); exists || err != nil {
		t.Errorf("a refused record left its schema: %t, %v", exists, err)
	}
	if entries, err := c.List(t.Context()); err != nil || len(entries) != 1 {
		t.Errorf("list = %v, %v; want demo alone", entries, err)
	}
}

func TestRecordConcurrently(t *testing.T) {
	c, _ := catalog(t)
	ns := parsed(t, "demo", "out")
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 4 {
		group.Go(func() {
			err := c.Record(context.Background(), ns, sourceID, outputID)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			} else if !errors.Is(err, ErrAlreadyApplied) && !errors.Is(err, ErrSchemaExists) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if done != 1 {
		t.Fatalf("%d records succeeded, want 1", done)
	}
	if _, err := c.Load(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
}

// TestR01R02LoadProvesDigests: each way of changing what an applied namespace means is noticed.
func TestR01R02LoadProvesDigests(t *testing.T) {
	for name, tc := range map[string]struct {
		damage string
		want   error
	}{
		"undamaged":          {`SELECT 1`, nil},
		"opening balance":    {`UPDATE amends_demo.stock_key SET opening_balance = opening_balance + 1 WHERE key_id = 0`, ErrAltered},
		"threshold":          {`UPDATE amends_demo.stock_key SET reorder_threshold = 0 WHERE key_id = 1`, ErrAltered},
		"key removed":        {`DELETE FROM amends_demo.stock_key WHERE key_id = 1`, ErrAltered},
		"no keys":            {`DELETE FROM amends_demo.stock_key`, ErrStateLost},
		"no schema":          {`DROP SCHEMA amends_demo CASCADE`, ErrStateLost},
		"source topic ID":    {`UPDATE namespace SET source_topic_id = 'AAAAAAAAAAAAAAAAAAAAAw'`, ErrAltered},
		"spec":               {`UPDATE namespace SET spec = jsonb_set(spec, '{source,partitions}', '"4"')`, ErrAltered},
		"R03 other version":  {`UPDATE namespace SET spec = jsonb_set(spec, '{semanticsVersion}', '"2"')`, manifests.ErrSemanticsVersion},
		"recorded digest":    {`UPDATE namespace SET namespace_digest = 'x'`, ErrAltered},
		"recorded business":  {`UPDATE namespace SET business_digest = 'x'`, ErrAltered},
		"member order":       {`UPDATE namespace SET spec = spec - 'output' || jsonb_build_object('output', spec->'output')`, nil},
		"keys in heap order": {`UPDATE amends_demo.stock_key SET item = item WHERE key_id = 0`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, pool := catalog(t)
			record(t, c, parsed(t, "demo", "out"))
			if _, err := pool.Exec(t.Context(), tc.damage); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Load(t.Context(), "demo"); !errors.Is(err, tc.want) {
				t.Fatalf("load = %v, want %v", err, tc.want)
			}
		})
	}
}

func TestViews(t *testing.T) {
	pool := open(t, pg.New(t), "")
	v := NewViews(pool)
	ns := parsed(t, "demo", "out")
	if found, err := v.Describe(t.Context(), ns.ViewSchema()); found != nil || err != nil {
		t.Fatalf("describe = %v, %v; want nothing", found, err)
	}
	if err := v.Create(t.Context(), ns, outputID); err != nil {
		t.Fatal(err)
	}
	want := &manifests.View{Namespace: "demo", NamespaceDigest: ns.NamespaceDigest(), OutputTopicID: outputID}
	if found, err := v.Describe(t.Context(), ns.ViewSchema()); err != nil || !cmp.Equal(found, want) {
		t.Fatalf("describe = %v, %v; want %v", found, err, want)
	}
	if err := v.Create(t.Context(), ns, outputID); !errors.Is(err, ErrSchemaExists) {
		t.Fatalf("create again = %v, want ErrSchemaExists", err)
	}
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA amends_foreign_view; CREATE TABLE amends_foreign_view.namespace (name text)`); err != nil {
		t.Fatal(err)
	}
	if found, err := v.Describe(t.Context(), "amends_foreign_view"); err != nil || found == nil || found.Namespace != "" {
		t.Fatalf("describe a foreign schema = %v, %v; want a view of nobody", found, err)
	}
}

func TestExplainConnections(t *testing.T) {
	url := pg.New(t)
	twin, err := Connect(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	twin.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		url  string
		want error
	}{
		"unreachable": {"postgres://anna:hunter2@" + closed + "/demo", ErrUnreachable},
		"no database": {strings.Replace(url, "/"+config.Database, "/absent", 1), ErrNoDatabase},
		"bad URL":     {"postgres://anna:hunter2@host:port/demo", ErrURL},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := Connect(ctx, Options{URL: tc.url})
		cancel()
		if err = Explain(err); tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password shows in %v", name, err)
		}
		if strings.Contains(Place(tc.url), "hunter2") {
			t.Errorf("%s: the password shows in %s", name, Place(tc.url))
		}
	}
	if got := Place("postgres://anna:hunter2@db.example:5433/demo"); got != "anna@db.example:5433/demo" {
		t.Errorf("place = %s", got)
	}
}

// TestUnfinishedNamespace: what is not finished cannot be loaded for use, by anything but what finishes it (S11).
func TestUnfinishedNamespace(t *testing.T) {
	mark.Expect(t, "S11 unfinished namespace refused")
	c, _ := catalog(t)
	record(t, c, parsed(t, "twin", "twin.out"))
	if _, err := c.Load(t.Context(), "twin"); err != nil {
		t.Fatal(err)
	}
	ns := parsed(t, "demo", "out")
	origin := Origin{BuiltBy: "arrow; decoder=columnar", Unfinished: "rebuild of old", ExperimentOf: "old"}
	if err := c.RecordAs(t.Context(), ns, sourceID, outputID, origin); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(t.Context(), "demo"); !errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), "rebuild of old") {
		t.Fatalf("load = %v, want ErrUnfinished", err)
	}
	got, err := c.LoadUnfinished(t.Context(), "demo")
	if err != nil || got.BuiltBy != origin.BuiltBy || got.Unfinished != origin.Unfinished || got.ExperimentOf != "old" {
		t.Fatalf("%+v, %v", got, err)
	}
	for range 2 {
		if err := c.FinishNamespace(t.Context(), "demo"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.Load(t.Context(), "demo"); err != nil || got.Unfinished != "" || got.ExperimentOf != "old" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := c.FinishNamespace(t.Context(), "absent"); !errors.Is(err, ErrNotApplied) {
		t.Fatalf("finish what is not there: %v", err)
	}
}
