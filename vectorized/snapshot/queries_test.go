package snapshot

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"amends.dev/amends/internal/testkit/python"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
)

// TestDocumentedQueries runs the queries of docs/reference/snapshot.md on a set as it is exported: DuckDB and Polars read it without
// help, and find something; pyarrow finds every record.
func TestDocumentedQueries(t *testing.T) {
	interpreter := python.Interpreter(t, "pyarrow", "polars", "duckdb")
	c, dir := oracletest.Mixed(t, 5, 400), t.TempDir()
	export(t, standard, filepath.Join(dir, "snapshot"), c.Namespace, c.Records)
	page := whole(t, filepath.Join(oracletest.Root(t), "docs", "reference", "snapshot.md"))
	block := func(language string) string {
		found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no query in %s", language)
		}
		return string(found[1])
	}
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
