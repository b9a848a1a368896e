package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
)

// wantRefused asserts that a manifest is refused for a reason, and that nothing changes.
func (w *world) wantRefused(t *testing.T, ns *manifests.Namespace, reason string) {
	t.Helper()
	before := w.state(t)
	plan, err := Do(t.Context(), w.deps, ns)
	if !errors.Is(err, ErrRefused) {
		t.Fatalf("apply = %v, want ErrRefused", err)
	}
	if text := plan.Text(); !strings.Contains(text, reason) {
		t.Errorf("no refusal says %q:\n%s", reason, text)
	}
	if diff := cmp.Diff(before, w.state(t)); diff != "" {
		t.Fatalf("refusing changed (-want +got):\n%s", diff)
	}
}

// TestExistingTopicsAreEqualOrRefused: what apply would create is found equal; everything else is refused.
func TestExistingTopicsAreEqualOrRefused(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		for _, tc := range []struct {
			name, reason     string
			sources, outputs int32
			configs          map[string]string
			prepare          func(w *world)
		}{
			{name: "equal", sources: 4, outputs: 2},
			{name: "equal with records in the source", sources: 4, outputs: 2, prepare: func(w *world) {
				c.Produce(t, kafkatest.Values(w.source, 1, "a")...)
			}},
			{name: "source partitions", sources: 3, outputs: 2, reason: "another partition count"},
			{name: "output partitions", sources: 4, outputs: 3, reason: "another partition count"},
			{name: "retention.ms", sources: 4, outputs: 2, configs: map[string]string{"retention.ms": "604800000"}, reason: "finite retention"},
			{name: "retention.bytes", sources: 4, outputs: 2, configs: map[string]string{"retention.bytes": "1000000"}, reason: "finite retention"},
			{name: "B005 compact", sources: 4, outputs: 2, configs: map[string]string{"cleanup.policy": "compact"}, reason: "compaction"},
			{name: "B005 compact,delete", sources: 4, outputs: 2, configs: map[string]string{"cleanup.policy": "compact,delete"}, reason: "compaction"},
			{name: "R04 start above 0", sources: 4, outputs: 2, reason: "lost the beginning", prepare: func(w *world) {
				c.Produce(t, kafkatest.Values(w.source, 2, "a", "b")...)
				c.DeleteRecords(t, w.source, 2, 1)
			}},
			{name: "records in the output", sources: 4, outputs: 2, reason: "not of this namespace", prepare: func(w *world) {
				c.Produce(t, kafkatest.Values(w.other, 1, "a")...)
			}},
		} {
			t.Run(tc.name, func(t *testing.T) {
				w := newWorld(t, c)
				c.CreateTopic(t, w.source, tc.sources, tc.configs)
				c.CreateTopic(t, w.other, tc.outputs, nil)
				if tc.prepare != nil {
					tc.prepare(w)
				}
				if tc.reason != "" {
					w.wantRefused(t, w.parse(t), tc.reason)
					return
				}
				if plan := w.mustDo(t, w.parse(t)); plan.ToCreate != 3 || plan.Unchanged != 2 {
					t.Fatalf("plan = %+v; want the topics unchanged", plan)
				}
			})
		}
	})
}

func TestR04AnotherNamespacesTopics(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	w.mustDo(t, w.parse(t))
	second := []string{"name: demo", "name: second"}
	w.wantRefused(t, w.parse(t, second...), "another namespace uses it")
	w.wantRefused(t, w.parse(t, "name: demo", "name: second", w.source, w.other, w.other+", partitions: 2", w.source+", partitions: 2"), "another namespace uses it")
	// A source topic may be shared: a rebuild does.
	w.mustDo(t, w.parse(t, "name: demo", "name: second", w.other, w.other+".second"))
}

func TestTopicsChangedAfterApply(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		w := newWorld(t, c)
		ns := w.parse(t)
		w.mustDo(t, ns)
		c.SetConfigs(t, w.source, map[string]string{"cleanup.policy": "compact"})
		w.wantRefused(t, ns, "compaction")
		c.SetConfigs(t, w.source, map[string]string{"cleanup.policy": "delete"})
		w.mustDo(t, ns)
		c.DeleteTopic(t, w.source)
		w.wantRefused(t, ns, "was deleted after the namespace was applied")
		c.CreateTopic(t, w.source, 4, nil)
		w.wantRefused(t, ns, "was recreated after the namespace was applied")
	})
}

func (w *world) exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), sql)
	if err = errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestSchemas(t *testing.T) {
	c := kafkatest.Fake(t)
	t.Run("a schema of something else", func(t *testing.T) {
		w := newWorld(t, c)
		w.exec(t, w.url, `CREATE SCHEMA amends_demo`)
		w.wantRefused(t, w.parse(t), "no namespace of this name is recorded")
	})
	t.Run("a view of something else", func(t *testing.T) {
		w := newWorld(t, c)
		w.exec(t, w.url, `CREATE SCHEMA amends_demo_view`)
		w.wantRefused(t, w.parse(t), "another history")
	})
	t.Run("a lost view is made again", func(t *testing.T) {
		w := newWorld(t, c)
		w.mustDo(t, w.parse(t))
		before := w.state(t)
		w.exec(t, w.url, `DROP SCHEMA amends_demo_view CASCADE`)
		if plan := w.mustDo(t, w.parse(t)); plan.ToCreate != 1 || plan.Items[2].Change != manifests.Repair {
			t.Fatalf("plan = %+v", plan)
		}
		// Times of creation differ, so only what there is is compared.
		names := func(state string) (names []string) {
			for line := range strings.Lines(state) {
				if strings.HasPrefix(line, "amends") {
					names = append(names, line)
				}
			}
			return names
		}
		if diff := cmp.Diff(names(before), names(w.state(t))); diff != "" {
			t.Fatalf("tables (-want +got):\n%s", diff)
		}
	})
	for name, damage := range map[string]string{
		"lost state":                   `DROP SCHEMA amends_demo CASCADE`,
		"altered keys":                 `UPDATE amends_demo.stock_key SET opening_balance = 0`,
		"R03 another semantics":        `UPDATE amends.namespace SET spec = jsonb_set(spec, '{semanticsVersion}', '"2"')`,
		"a newer layout of catalog":    `INSERT INTO amends.schema_version VALUES ('catalog', 99, 'x')`,
		"a newer layout of the view":   `INSERT INTO amends_demo_view.schema_version VALUES ('view', 99, 'x')`,
		"an altered catalog migration": `UPDATE amends.schema_version SET sha256 = 'x'`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c)
			w.mustDo(t, w.parse(t))
			w.exec(t, w.url, damage)
			before := w.state(t)
			_, _, err := invoke(t, w, w.parse(t), options{yes: true}, "", false)
			wantCode(t, err, exit.Refused)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			if diff := cmp.Diff(before, w.state(t)); diff != "" {
				t.Fatalf("refusing changed (-want +got):\n%s", diff)
			}
		})
	}
}
