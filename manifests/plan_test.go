package manifests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
)

// demoSpec is the spec that the plan tests apply.
func demoSpec() manifests.Spec {
	return manifests.Spec{LedgerOrigin: 1767225600000000000,
		Source:    manifests.Source{Topic: "demo.transactions", Partitions: 2},
		Output:    manifests.Output{Topic: "demo.outputs", Partitions: 2},
		StockKeys: []manifests.StockKey{{Item: "a", Location: "x", OpeningBalance: 9007199254740992, ReorderThreshold: 40}, {Item: "b", Location: "x"}}}
}

func mustNew(t *testing.T, name string, spec manifests.Spec) *manifests.Namespace {
	t.Helper()
	ns, err := manifests.New(name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// topic is one as apply creates it.
func topic(id string) *manifests.Topic {
	return &manifests.Topic{ID: id, Partitions: 2, Starts: []int64{0, 0}, Ends: []int64{0, 0},
		Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}}
}

// applied is what exists after ns was applied and has worked.
func applied(ns *manifests.Namespace) manifests.Observed {
	o := manifests.Observed{
		Applied:     &manifests.Applied{Namespace: ns, NamespaceDigest: ns.NamespaceDigest(), SourceTopicID: "s", OutputTopicID: "o"},
		Source:      topic("s"),
		Output:      topic("o"),
		StateSchema: true,
		View:        &manifests.View{Namespace: ns.Name, NamespaceDigest: ns.NamespaceDigest(), OutputTopicID: "o"},
		Others: []manifests.Claim{{Namespace: "other", SourceTopic: "other.transactions", OutputTopic: "other.outputs",
			StateSchema: "amends_other", ViewSchema: "amends_other_view"},
			{Namespace: ns.Name, SourceTopic: "demo.transactions", OutputTopic: "demo.outputs", StateSchema: ns.StateSchema(), ViewSchema: ns.ViewSchema()}},
	}
	o.Source.Ends, o.Output.Ends = []int64{7, 9}, []int64{3, 0}
	return o
}

func counts(p manifests.Plan) string {
	return fmt.Sprintf("%d %d %d", p.ToCreate, p.Unchanged, p.Refused)
}

// TestPlanCreates: on nothing everything is created, topics first and the record last.
func TestPlanCreates(t *testing.T) {
	ns := mustNew(t, "demo", demoSpec())
	p := manifests.NewPlan(ns, manifests.Observed{})
	want := "namespace demo, digest " + ns.NamespaceDigest() + `
  + source topic demo.transactions: 2 partitions, unlimited retention, cleanup.policy=delete
  + output topic demo.outputs: 2 partitions, unlimited retention, cleanup.policy=delete
  + view schema amends_demo_view
  + state schema amends_demo
  + namespace demo: 2 stock keys
plan: 5 to create, 0 unchanged, 0 refused
`
	if p.Text() != want || !p.Pending() {
		t.Errorf("got\n%s", p.Text())
	}
}

// TestPlanUnchanged: what was applied is unchanged, also after it has worked, and after an interrupted apply.
func TestPlanUnchanged(t *testing.T) {
	ns := mustNew(t, "demo", demoSpec())
	p := manifests.NewPlan(ns, applied(ns))
	if counts(p) != "0 5 0" || p.Pending() || !strings.Contains(p.Text(), "  = state schema amends_demo\n") {
		t.Errorf("%s", p.Text())
	}
	interrupted := applied(ns)
	interrupted.Applied, interrupted.StateSchema, interrupted.Output.Ends = nil, false, []int64{0, 0}
	p = manifests.NewPlan(ns, interrupted)
	if counts(p) != "2 3 0" || !p.Pending() {
		t.Errorf("interrupted: %s", p.Text())
	}
	lostView := applied(ns)
	lostView.View = nil
	p = manifests.NewPlan(ns, lostView)
	if counts(p) != "1 4 0" || !strings.Contains(p.Text(), "  ~ view schema amends_demo_view: ") {
		t.Errorf("lost view: %s", p.Text())
	}
}

// TestPlanImmutable: every changed field is refused by name with old, new and remedy, and nothing is planned (B122).
func TestPlanImmutable(t *testing.T) {
	mark.Expect(t, "SC28 applied configuration changed")
	ns := mustNew(t, "demo", demoSpec())
	if p := manifests.NewPlan(mustNew(t, "demo", demoSpec()), applied(ns)); p.Refused != 0 {
		t.Fatalf("the undamaged twin: %s", p.Text())
	}
	f := func(field, before, after string, change func(*manifests.Spec)) {
		t.Helper()
		spec := demoSpec()
		change(&spec)
		p := manifests.NewPlan(mustNew(t, "demo", spec), applied(ns))
		if counts(p) != "0 0 1" || len(p.Items) != 0 || p.Pending() {
			t.Fatalf("%s: %s", field, p.Text())
		}
		r := p.Refusals[0]
		if r.Field != field || r.Old != before || r.New != after || !strings.Contains(r.Remedy, "new namespace") {
			t.Errorf("got %+v", r)
		}
	}
	f("spec.ledgerOrigin", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", func(s *manifests.Spec) { s.LedgerOrigin++ })
	f("spec.source.topic", "demo.transactions", "t", func(s *manifests.Spec) { s.Source.Topic = "t" })
	f("spec.source.partitions", "2", "4", func(s *manifests.Spec) { s.Source.Partitions = 4 })
	f("spec.source.maxRecordBytes", "65536", "65535", func(s *manifests.Spec) { s.Source.MaxRecordBytes = 65535 })
	f("spec.output.topic", "demo.outputs", "t", func(s *manifests.Spec) { s.Output.Topic = "t" })
	f("spec.output.partitions", "2", "1", func(s *manifests.Spec) { s.Output.Partitions = 1 })
	f(`spec.stockKeys["a","x"].openingBalance`, "9007199254740992", "9007199254740993", func(s *manifests.Spec) { s.StockKeys[0].OpeningBalance++ })
	f(`spec.stockKeys["a","x"].reorderThreshold`, "40", "60", func(s *manifests.Spec) { s.StockKeys[0].ReorderThreshold = 60 })
	f(`spec.stockKeys["b","x"]`, "openingBalance 0, reorderThreshold 0", "not configured", func(s *manifests.Spec) { s.StockKeys = s.StockKeys[:1] })
	f(`spec.stockKeys["a","y"]`, "not configured", "openingBalance 1, reorderThreshold 2", func(s *manifests.Spec) {
		s.StockKeys = append(s.StockKeys, manifests.StockKey{Item: "a", Location: "y", OpeningBalance: 1, ReorderThreshold: 2})
	})
}

// TestR01AlteredCatalogIsRefused: a recorded spec that no longer has its recorded digest is told from a changed manifest.
func TestR01AlteredCatalogIsRefused(t *testing.T) {
	mark.Expect(t, "R01 recorded digest does not hold")
	ns := mustNew(t, "demo", demoSpec())
	observed := applied(ns)
	if p := manifests.NewPlan(ns, observed); p.Refused != 0 {
		t.Fatalf("the undamaged twin: %s", p.Text())
	}
	observed.Applied.NamespaceDigest = "0" + observed.Applied.NamespaceDigest
	p := manifests.NewPlan(ns, observed)
	if p.Refused != 1 || len(p.Items) != 0 || !strings.Contains(p.Refusals[0].Reason, "the catalog was altered") {
		t.Errorf("%s", p.Text())
	}
}

// TestPlanBoundsRefusals: many changed keys are counted, not all listed.
func TestPlanBoundsRefusals(t *testing.T) {
	before, after := demoSpec(), demoSpec()
	for i := range 1000 {
		before.StockKeys = append(before.StockKeys, manifests.StockKey{Item: "k", Location: fmt.Sprint(2 * i)})
		after.StockKeys = append(after.StockKeys, manifests.StockKey{Item: "k", Location: fmt.Sprint(2*i + 1)})
	}
	p := manifests.NewPlan(mustNew(t, "demo", after), applied(mustNew(t, "demo", before)))
	if p.Refused != 2000 || len(p.Refusals) != 50 || !strings.Contains(p.Text(), "! 1950 more not shown\n") {
		t.Errorf("%d refused, %d listed", p.Refused, len(p.Refusals))
	}
}

// TestPlanRefuses: each thing that exists and must not be so is refused with its field, alone, beside an accepted twin.
func TestPlanRefuses(t *testing.T) {
	mark.Expect(t, "R04 another namespace uses it")
	ns := mustNew(t, "demo", demoSpec())
	fresh := func() manifests.Observed { // both topics were made by hand, as apply would make them
		o := applied(ns)
		return manifests.Observed{Source: o.Source, Output: topic("o"), Others: o.Others[:1]}
	}
	for name, base := range map[string]func() manifests.Observed{"fresh": fresh, "applied": func() manifests.Observed { return applied(ns) }} {
		if p := manifests.NewPlan(ns, base()); p.Refused != 0 {
			t.Fatalf("the undamaged twin %s: %s", name, p.Text())
		}
	}
	f := func(field, part string, observed manifests.Observed, damage func(*manifests.Observed)) {
		t.Helper()
		damage(&observed)
		p := manifests.NewPlan(ns, observed)
		if p.Refused != 1 || p.Pending() {
			t.Fatalf("want one refusal: %s", p.Text())
		}
		r := p.Refusals[0]
		if r.Field != field || !strings.Contains(r.Old+" "+r.New+" "+r.Reason, part) || r.Remedy == "" {
			t.Errorf("got %+v", r)
		}
		if text := p.Text(); !strings.Contains(text, "  ! "+field+": "+r.Old+" → "+r.New+"\n") || !strings.HasSuffix(text, "1 refused\nrefused: nothing is touched\n") {
			t.Errorf("text\n%s", text)
		}
	}
	config := func(key, value string) func(*manifests.Observed) {
		return func(o *manifests.Observed) {
			o.Source.Configs = maps.Clone(o.Source.Configs)
			o.Source.Configs[key] = value
		}
	}
	for _, base := range []func() manifests.Observed{fresh, func() manifests.Observed { return applied(ns) }} {
		f("spec.source.partitions", "another partition count", base(), func(o *manifests.Observed) { o.Source.Partitions = 3 })
		f("spec.output.partitions", "another partition count", base(), func(o *manifests.Observed) { o.Output.Partitions = 1 })
		f("spec.source.topic", "retention.ms=604800000", base(), config("retention.ms", "604800000"))
		f("spec.source.topic", "retention.bytes=1", base(), config("retention.bytes", "1"))
		f("spec.source.topic", "compaction", base(), config("cleanup.policy", "compact"))
		f("spec.source.topic", "compaction", base(), config("cleanup.policy", "compact,delete"))
		f("spec.output.topic", "unknown", base(), func(o *manifests.Observed) { delete(o.Output.Configs, "retention.ms") })
		f("spec.source.topic", "partition 1 starts at offset 5", base(), func(o *manifests.Observed) { o.Source.Starts = []int64{0, 5} })
		f("spec.output.topic", "lost the beginning", base(), func(o *manifests.Observed) { o.Output.Starts, o.Output.Ends = []int64{1, 0}, []int64{1, 0} })
		for field, claim := range map[string]manifests.Claim{ // R04
			"spec.output.topic": {OutputTopic: "demo.outputs"},
			"spec.source.topic": {OutputTopic: "demo.transactions"},
			"metadata.name":     {ViewSchema: "amends_demo"},
		} {
			claim.Namespace = "third"
			f(field, "namespace third", base(), func(o *manifests.Observed) { o.Others = append(slices.Clone(o.Others), claim) })
		}
		f("spec.output.topic", "source topic of namespace third", base(), func(o *manifests.Observed) {
			o.Others = append(slices.Clone(o.Others), manifests.Claim{Namespace: "third", SourceTopic: "demo.outputs"})
		})
		f("metadata.name", "another history", base(), func(o *manifests.Observed) {
			o.View = &manifests.View{Namespace: "demo", NamespaceDigest: "0123456789abcdef", OutputTopicID: "o"}
		})
	}
	f("spec.source.topic", "recreated", applied(ns), func(o *manifests.Observed) { o.Source.ID = "s2" })
	f("spec.source.topic", "deleted", applied(ns), func(o *manifests.Observed) { o.Source = nil })
	f("spec.output.topic", "deleted", applied(ns), func(o *manifests.Observed) { o.Output, o.View.OutputTopicID = nil, "" })
	f("metadata.name", "lost", applied(ns), func(o *manifests.Observed) { o.StateSchema = false })
	f("spec", "altered", applied(ns), func(o *manifests.Observed) { o.Applied.NamespaceDigest = "0123456789abcdef" })
	f("metadata.name", "no namespace of this name", fresh(), func(o *manifests.Observed) { o.StateSchema = true })
	f("spec.output.topic", "not of this namespace", fresh(), func(o *manifests.Observed) { o.Output.Ends = []int64{0, 1} })
}

// TestPlanSharesSource: another namespace may read the same source topic, as a rebuild does.
func TestPlanSharesSource(t *testing.T) {
	ns := mustNew(t, "demo", demoSpec())
	o := manifests.Observed{Source: topic("s"), Others: []manifests.Claim{{Namespace: "old", SourceTopic: "demo.transactions", OutputTopic: "old.outputs"}}}
	if p := manifests.NewPlan(ns, o); counts(p) != "4 1 0" {
		t.Errorf("%s", p.Text())
	}
}

// TestPlanJSON pins the machine-readable form.
func TestPlanJSON(t *testing.T) {
	ns := mustNew(t, "demo", demoSpec())
	o := manifests.Observed{Source: topic("s")}
	o.Source.Partitions = 3
	data, err := json.Marshal(manifests.NewPlan(ns, o))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Namespace, Digest            string
		Items                        []map[string]string
		Refusals                     []map[string]string
		ToCreate, Unchanged, Refused int
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Namespace != "demo" || doc.Digest != ns.NamespaceDigest() || len(doc.Items) != 4 || doc.Items[0]["change"] != "create" ||
		doc.Items[0]["kind"] != "output topic" || len(doc.Refusals) != 1 || doc.Refusals[0]["field"] != "spec.source.partitions" || doc.Refused != 1 {
		t.Errorf("%s", data)
	}
}

// TestR04SchemaNames: the longest name gives schema names that Postgres does not cut, and no two names collide.
func TestR04SchemaNames(t *testing.T) {
	ns := &manifests.Namespace{Name: strings.Repeat("a", manifests.NameLengthMax)}
	if len(ns.ViewSchema()) > 63 || len(ns.StateSchema()) > 63 {
		t.Errorf("%s is cut", ns.ViewSchema())
	}
}
