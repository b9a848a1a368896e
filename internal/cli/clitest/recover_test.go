package clitest

import (
	"slices"
	"testing"
)

// recoverVerbs are the verbs of recovery, as these tests call them.
var recoverVerbs = [][]string{
	{"replay", "--partition", "0", "--from", "0", "--to", "1"},
	{"resume", "--stage", "worker", "--partition", "0"},
}

// TestRecoverVerbsOnTheWrongState: servers that do not answer, a namespace that is not there, and state that is lost,
// altered or another build's are told in one line with the right exit code; nothing is touched.
func TestRecoverVerbsOnTheWrongState(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	before := w.frontiers()
	for _, args := range recoverVerbs {
		w.with("AMENDS_DATABASE_URL=postgres://amends@127.0.0.1:1/amends").fails(1, `^database amends@127.*: no server answers: `, args...)
		w.with("AMENDS_BROKERS=127.0.0.1:1").fails(1, `^brokers 127.0.0.1:1: no broker answers: `, args...)
		w.fails(1, `nosuch: not applied`, append(slices.Clone(args), "-n", "nosuch")...)
	}
	for line, change := range map[string][2]string{
		`schema amends_shop is of namespace layout version 2`: {
			`INSERT INTO amends_shop.schema_version (kind, version, sha256) VALUES ('namespace', 2, 'x')`,
			`DELETE FROM amends_shop.schema_version WHERE kind = 'namespace' AND version = 2`},
		`unsupported semantics version 2`: {
			`UPDATE amends.namespace SET semantics_version = 2`, `UPDATE amends.namespace SET semantics_version = 1`},
		`was altered`: {
			`UPDATE amends_shop.stock_key SET reorder_threshold = reorder_threshold + 1 WHERE key_id = 0`,
			`UPDATE amends_shop.stock_key SET reorder_threshold = reorder_threshold - 1 WHERE key_id = 0`},
		`processing state of (this )?namespace.* is lost`: {
			`ALTER SCHEMA amends_shop RENAME TO elsewhere`, `ALTER SCHEMA elsewhere RENAME TO amends_shop`},
	} {
		w.sql(change[0])
		for _, args := range recoverVerbs {
			w.fails(5, line, args...)
		}
		w.sql(change[1])
	}
	if after := w.frontiers(); after != before {
		t.Errorf("frontiers %s became %s", before, after)
	}
	// A view of another build keeps the namespace from being deleted; state that is lost does not.
	w.sql(`INSERT INTO amends_shop_view.schema_version (kind, version, sha256) VALUES ('view', 2, 'x')`)
	w.fails(5, `schema amends_shop_view is of view layout version 2`, "delete", "namespace", "shop", "--confirm", "shop")
	w.sql(`DELETE FROM amends_shop_view.schema_version WHERE version = 2`)
	w.passesAfterRun()
	w.sql(`ALTER SCHEMA amends_shop RENAME TO elsewhere`)
	w.must("delete", "namespace", "shop", "--confirm", "shop")
}
