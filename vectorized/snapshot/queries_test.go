package snapshot

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"amends.dev/amends/internal/testkit/python"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
)

// documented is the block in a language under a heading of docs/reference/snapshot.md.
func documented(t *testing.T, heading, language string) string {
	t.Helper()
	page := whole(t, filepath.Join(oracletest.Root(t), "docs", "reference", "snapshot.md"))
	found := regexp.MustCompile("(?s)\n## " + heading + "\n.*?\n```" + language + "\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no block in %s under %s", language, heading)
	}
	return string(found[1])
}

// TestDocumentedWriter runs the script of docs/reference/snapshot.md that writes a set: who has nothing but the page writes one
// that every reader takes, with a business digest that is the manifest's.
func TestDocumentedWriter(t *testing.T) {
	interpreter := python.Interpreter(t, "pyarrow")
	command := exec.Command(interpreter, "-c", documented(t, "A set of your own", "python"))
	command.Dir = t.TempDir()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ns, problems := manifests.Parse("shop.yaml", []byte(documented(t, "A set of your own", "yaml")), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := open(t, filepath.Join(command.Dir, "own"))
	if got, want := s.Meta().BusinessDigest, ns.BusinessDigest(s.Meta().TopicID); got != want {
		t.Errorf("business digest %s, the manifest's is %s", got, want)
	}
	for reader, p := range projections(t, ns, s) {
		if len(p.Balances) != 1 || p.Balances[0].Close != 50 || len(p.Alerts) != 1 || len(p.Rejections) != 1 || p.Rejections[0].Offset != 5 {
			t.Errorf("%s: %+v", reader, p)
		}
	}
}

// TestDocumentedQueries runs the queries of docs/reference/snapshot.md on a set as it is exported: DuckDB and Polars read it without
// help, and find something; pyarrow finds every record.
func TestDocumentedQueries(t *testing.T) {
	interpreter := python.Interpreter(t, "pyarrow", "polars", "duckdb")
	c, dir := oracletest.Mixed(t, 5, 400), t.TempDir()
	export(t, standard, filepath.Join(dir, "snapshot"), c.Namespace, c.Records)
	block := func(language string) string { return documented(t, "Querying it elsewhere", language) }
	for name, script := range map[string]string{
		"duckdb":  "import duckdb\nassert len(duckdb.sql(r'''" + block("sql") + "''').fetchall()) > 0\n",
		"polars":  block("python") + "\nassert pl.scan_parquet('snapshot/part-*.parquet').select(pl.len()).collect().item() == 400\n",
		"pyarrow": "import glob, pyarrow.parquet as pq\nassert sum(pq.read_table(f).num_rows for f in glob.glob('snapshot/part-*.parquet')) == 400\n",
	} {
		command := exec.Command(interpreter, "-c", script)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// TestOthersReadColumnsOfNulls: a set in which nothing is rejected, and one in which everything is, have columns of nulls
// only, whose dictionaries are empty pages: DuckDB, Polars and pyarrow read every column of them.
func TestOthersReadColumnsOfNulls(t *testing.T) {
	interpreter := python.Interpreter(t, "pyarrow", "polars", "duckdb")
	c := oracletest.Mixed(t, 5, 400)
	judge, halves := decode.New(c.Namespace), map[string][]engine.Record{}
	for _, r := range c.Records {
		name := "accepted"
		if _, reason := judge.Decode(r.Partition, r.Key, r.Value); reason != "" {
			name = "rejected"
		}
		halves[name] = append(halves[name], r)
	}
	for name, records := range halves {
		if len(records) < 20 {
			t.Fatalf("%d records are %s", len(records), name)
		}
		dir := t.TempDir()
		export(t, standard, filepath.Join(dir, "snapshot"), c.Namespace, records)
		for reader, script := range map[string]string{
			"duckdb":  "import duckdb\nn = len(duckdb.sql(\"SELECT * FROM 'snapshot/part-*.parquet'\").fetchall())",
			"polars":  "import glob, polars as pl\nn = sum(pl.read_parquet(f).height for f in glob.glob('snapshot/part-*.parquet'))",
			"pyarrow": "import glob, pyarrow.parquet as pq\nn = sum(pq.read_table(f, page_checksum_verification=True).num_rows for f in glob.glob('snapshot/part-*.parquet'))",
		} {
			command := exec.Command(interpreter, "-c", script+fmt.Sprintf("\nassert n == %d, n\n", len(records)))
			command.Dir = dir
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v: %s", name, reader, err, out)
			}
		}
	}
}
