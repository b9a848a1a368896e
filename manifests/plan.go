package manifests

import (
	"fmt"
	"strconv"

	"amends.dev/amends/internal/mark"
)

// Change is what a plan does about one item.
type Change string

// The changes.
const (
	// Create makes what does not exist.
	Create Change = "create"
	// Repair makes again what was lost and can be derived: an empty view reads its output topic from the start.
	Repair Change = "repair"
	// Unchanged leaves what is as it must be.
	Unchanged Change = "unchanged"
)

// ItemKind is the kind of thing a plan is about.
type ItemKind string

// The kinds. A plan lists its items in the order in which apply does them: the namespace is recorded last, in one
// transaction with its state schema, so that an interrupted apply can be repeated.
const (
	SourceTopic     ItemKind = "source topic"
	OutputTopic     ItemKind = "output topic"
	ViewSchemaItem  ItemKind = "view schema"
	StateSchemaItem ItemKind = "state schema"
	NamespaceRecord ItemKind = "namespace"
)

// Item is one thing that apply creates or finds as it must be.
type Item struct {
	Kind   ItemKind `json:"kind"`
	Name   string   `json:"name"`
	Change Change   `json:"change"`
	// Detail says how the item is made; empty where nothing is.
	Detail string `json:"detail,omitempty"`
}

// Refusal is one reason why the manifest cannot be applied to what exists.
type Refusal struct {
	// Field is the manifest field that what exists contradicts, as spec.source.partitions.
	Field string `json:"field"`
	// Old is what exists, New what the manifest wants.
	Old string `json:"old"`
	New string `json:"new"`
	// Reason says why that cannot be, and Remedy what to do.
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// Plan is what apply would do: the items, in order, or nothing at all where anything is refused.
type Plan struct {
	Namespace string    `json:"namespace"`
	Digest    string    `json:"digest"`
	Items     []Item    `json:"items"`
	Refusals  []Refusal `json:"refusals"`
	// ToCreate, Unchanged and Refused count; Refused also counts what Refusals leaves out of very long lists.
	ToCreate  int `json:"toCreate"`
	Unchanged int `json:"unchanged"`
	Refused   int `json:"refused"`
}

// Pending reports whether apply has something to do and may do it.
func (p Plan) Pending() bool { return p.Refused == 0 && p.ToCreate > 0 }

// NewPlan compares a manifest with what exists (design section 4, R04). It decides everything from its arguments and
// changes neither.
func NewPlan(desired *Namespace, observed Observed) Plan {
	p := &planner{desired: desired, observed: observed,
		plan: Plan{Namespace: desired.Name, Digest: desired.NamespaceDigest(), Items: []Item{}, Refusals: []Refusal{}}}
	if observed.Applied != nil && !p.sameSpec() {
		return p.plan // what exists belongs to another spec: there is nothing to compare it with
	}
	p.claims()
	p.topic(SourceTopic)
	p.topic(OutputTopic)
	p.view()
	p.state()
	if observed.Applied != nil {
		p.item(NamespaceRecord, desired.Name, Unchanged, "")
	} else {
		p.item(NamespaceRecord, desired.Name, Create, strconv.Itoa(len(desired.Spec.StockKeys))+" stock keys")
	}
	return p.plan
}

// planner fills a plan.
type planner struct {
	desired  *Namespace
	observed Observed
	plan     Plan
}

func (p *planner) item(kind ItemKind, name string, change Change, detail string) {
	p.plan.Items = append(p.plan.Items, Item{Kind: kind, Name: name, Change: change, Detail: detail})
	if change == Unchanged {
		p.plan.Unchanged++
	} else {
		p.plan.ToCreate++
	}
}

func (p *planner) refuse(r Refusal) {
	p.plan.Refused++
	if len(p.plan.Refusals) < refusalsMax {
		p.plan.Refusals = append(p.plan.Refusals, r)
	}
}

// claims refuses what another namespace uses (R04). Two namespaces may read one source topic: a rebuild does.
func (p *planner) claims() {
	source, output := p.desired.Spec.Source.Topic, p.desired.Spec.Output.Topic
	for _, other := range p.observed.Others {
		if other.Namespace == p.desired.Name {
			continue
		}
		refuse := func(field, name, use string) {
			mark.Hit("R04 another namespace uses it")
			p.refuse(Refusal{Field: field, Old: use + " of namespace " + other.Namespace, New: name,
				Reason: "another namespace uses it", Remedy: "choose another name"})
		}
		switch output {
		case other.OutputTopic:
			refuse("spec.output.topic", output, "output topic")
		case other.SourceTopic:
			refuse("spec.output.topic", output, "source topic")
		}
		if source == other.OutputTopic {
			refuse("spec.source.topic", source, "output topic")
		}
		for _, schema := range []string{p.desired.StateSchema(), p.desired.ViewSchema()} {
			if schema == other.StateSchema || schema == other.ViewSchema {
				refuse("metadata.name", schema, "schema")
			}
		}
	}
}

// state plans the schema of processing state. Apply makes it in the transaction that records the namespace, so one
// without the other was made or lost by something else.
func (p *planner) state() {
	name, applied := p.desired.StateSchema(), p.observed.Applied != nil
	switch {
	case applied && p.observed.StateSchema:
		p.item(StateSchemaItem, name, Unchanged, "")
	case !applied && !p.observed.StateSchema:
		p.item(StateSchemaItem, name, Create, "")
	case applied:
		p.refuse(Refusal{Field: "metadata.name", Old: "no schema " + name, New: "schema " + name,
			Reason: "the processing state of this namespace is lost", Remedy: "rebuild from the source topic into a new namespace"})
	default:
		p.refuse(Refusal{Field: "metadata.name", Old: "schema " + name, New: "no such schema yet",
			Reason: "the schema exists, but no namespace of this name is recorded", Remedy: "choose another metadata.name, or drop the schema if nothing needs it"})
	}
}

// view plans the schema of the view, which may have been made by an apply that was interrupted before the record.
func (p *planner) view() {
	name, found := p.desired.ViewSchema(), p.observed.View
	if found == nil {
		if p.observed.Applied == nil {
			p.item(ViewSchemaItem, name, Create, "")
		} else {
			p.item(ViewSchemaItem, name, Repair, "it is missing; an empty one reads the output topic from its start")
		}
		return
	}
	outputID := ""
	if p.observed.Output != nil {
		outputID = p.observed.Output.ID
	}
	if found.Namespace == p.desired.Name && found.NamespaceDigest == p.plan.Digest && found.OutputTopicID == outputID {
		p.item(ViewSchemaItem, name, Unchanged, "")
		return
	}
	p.refuse(Refusal{Field: "metadata.name", New: "schema " + name + " of this manifest and its output topic",
		Old:    fmt.Sprintf("schema %s of namespace %q, digest %s, output topic ID %q", name, found.Namespace, short(found.NamespaceDigest), found.OutputTopicID),
		Reason: "the view schema holds another history", Remedy: "choose another metadata.name, or drop the schema if nothing needs it"})
}
