package clitest

import (
	"slices"
	"testing"
)

// TestNotApplied: a database or a name without a namespace says how to begin, and beginning works.
func TestNotApplied(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	for _, args := range serverVerbs[2:] {
		w.fails(1, `no namespace.*(; begin| or begin) with amendsctl apply$`, args...)
	}
	w.must("apply", "--yes", "shop.yaml")
	for _, args := range serverVerbs[2:] {
		w.fails(1, `namespace nosuch: not applied; .*amendsctl get namespaces, or begin with amendsctl apply$`, append(slices.Clone(args), "-n", "nosuch")...)
	}
	w.proves("shop", 1)
}

// TestStateOfAnotherBuild: layouts and semantics versions that this build does not know, and state that is lost or was
// altered, are refused by every verb that would rely on them, and nothing is touched: undone, the twin passes again.
func TestStateOfAnotherBuild(t *testing.T) { //nolint:tparallel // its subtests change one database in turn
	t.Parallel()
	w := appliedWorld(t)
	const newer = `use (a newer amendsctl|the amendsctl that applied it)$`
	for name, c := range map[string]struct {
		damage, undo, line string
		// free are verbs that do not rely on what is damaged.
		free []string
	}{
		"newer layout of the catalog": {
			damage: `INSERT INTO amends.schema_version (kind, version, sha256) VALUES ('catalog', 2, 'x')`,
			undo:   `DELETE FROM amends.schema_version WHERE version = 2`,
			line:   `schema amends is of catalog layout version 2 and this build .*: ` + newer},
		"newer layout of the state": {
			damage: `INSERT INTO amends_shop.schema_version (kind, version, sha256) VALUES ('namespace', 2, 'x')`,
			undo:   `DELETE FROM amends_shop.schema_version WHERE version = 2`,
			line:   `schema amends_shop is of namespace layout version 2 and this build .*: ` + newer},
		"newer layout of the view": {
			damage: `INSERT INTO amends_shop_view.schema_version (kind, version, sha256) VALUES ('view', 2, 'x')`,
			undo:   `DELETE FROM amends_shop_view.schema_version WHERE version = 2`,
			line:   `schema amends_shop_view is of view layout version 2 and this build .*: ` + newer,
			free:   []string{"generate", "export"}},
		"layout of another text": {
			damage: `UPDATE amends_shop.schema_version SET sha256 = 'x' || sha256`,
			undo:   `UPDATE amends_shop.schema_version SET sha256 = substr(sha256, 2)`,
			line: `schema amends_shop holds a namespace layout of another build: namespace/0001_state.sql is x[0-9a-f]{11}…, ` +
				`this build's is [0-9a-f]{12}…, and none is converted: use the amendsctl that applied it, or apply a new namespace over the same source topic$`,
			free: []string{"export", "verify"}}, // the judge knows versions, not texts
		"catalog layout of another text": {
			damage: `UPDATE amends.schema_version SET sha256 = 'x' || sha256`,
			undo:   `UPDATE amends.schema_version SET sha256 = substr(sha256, 2)`,
			line:   `schema amends holds a catalog layout of another build: .*: use the amendsctl that applied it, or another database$`,
			free:   []string{"export", "verify"}},
		"R03 semantics version": {
			damage: `UPDATE amends.namespace SET semantics_version = 2`,
			undo:   `UPDATE amends.namespace SET semantics_version = 1`,
			line:   `unsupported semantics version 2; this build implements 1; use the amendsctl that applied it$`},
		"R03 semantics version in the spec": {
			damage: `UPDATE amends.namespace SET spec = jsonb_set(spec, '{semanticsVersion}', '"2"')`,
			undo:   `UPDATE amends.namespace SET spec = jsonb_set(spec, '{semanticsVersion}', '"1"')`,
			line:   `unsupported semantics version "2"; this build implements 1; use the amendsctl that applied it$`},
		"state lost": {
			damage: `ALTER SCHEMA amends_shop RENAME TO elsewhere`,
			undo:   `ALTER SCHEMA elsewhere RENAME TO amends_shop`,
			line:   `the processing state of (this )?namespace.* is lost: .*; rebuild from the source topic into a new namespace$`},
		"opening balance altered": {
			damage: `UPDATE amends_shop.stock_key SET opening_balance = opening_balance + 1 WHERE key_id = 0`,
			undo:   `UPDATE amends_shop.stock_key SET opening_balance = opening_balance - 1 WHERE key_id = 0`,
			line:   `was altered`},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.on(t)
			before := w.frontiers()
			w.sql(c.damage)
			for _, args := range serverVerbs {
				if !slices.Contains(c.free, args[0]) {
					w.fails(5, c.line, args...)
				}
			}
			w.sql(c.undo)
			if after := w.frontiers(); after != before {
				t.Errorf("frontiers %s became %s", before, after)
			}
			w.passes("shop")
		})
	}
	w.proves("shop", 2)
}

// TestLostViewIsMadeAgain: a view can be computed from the output topic, so apply makes a lost one again.
func TestLostViewIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.sql(`DROP SCHEMA amends_shop_view CASCADE`)
	w.fails(5, `schema amends_shop_view holds no view: apply the namespace first$`, "run")
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 2)
}
