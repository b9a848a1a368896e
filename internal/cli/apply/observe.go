package apply

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/postgres"
)

// Catalog is the part of postgres.Catalog that apply uses.
type Catalog interface {
	// List returns all recorded namespaces.
	List(ctx context.Context) ([]postgres.Entry, error)
	// Load returns one, or an error wrapping postgres.ErrNotApplied.
	Load(ctx context.Context, name string) (*postgres.Applied, error)
	// SchemaExists looks for a schema.
	SchemaExists(ctx context.Context, schema string) (bool, error)
	// Migrate creates the catalog where it is missing.
	Migrate(ctx context.Context) error
	// Record creates state schema and catalog row in one transaction.
	Record(ctx context.Context, ns *manifests.Namespace, sourceTopicID, outputTopicID string) error
}

// Views is the part of postgres.Views that apply uses.
type Views interface {
	// Describe tells whose view a schema is, nil where there is none.
	Describe(ctx context.Context, schema string) (*manifests.View, error)
	// Create creates an empty view in one transaction.
	Create(ctx context.Context, ns *manifests.Namespace, outputTopicID string) error
}

// Deps are the servers that a manifest is applied to.
type Deps struct {
	Topics  broker.Admin
	Catalog Catalog
	Views   Views
}

// Observe finds what exists where the manifest is to be applied. It writes nothing.
func Observe(ctx context.Context, deps Deps, ns *manifests.Namespace) (manifests.Observed, error) {
	var seen manifests.Observed
	entries, err := deps.Catalog.List(ctx)
	if err != nil {
		return seen, err
	}
	for _, e := range entries {
		if e.Name != ns.Name {
			seen.Others = append(seen.Others, manifests.Claim{Namespace: e.Name, SourceTopic: e.SourceTopic,
				OutputTopic: e.OutputTopic, StateSchema: e.StateSchema, ViewSchema: e.ViewSchema})
			continue
		}
		applied, err := deps.Catalog.Load(ctx, ns.Name)
		if err != nil {
			return seen, err
		}
		seen.Applied = &manifests.Applied{Namespace: applied.Namespace, NamespaceDigest: applied.NamespaceDigest,
			SourceTopicID: applied.SourceTopicID, OutputTopicID: applied.OutputTopicID}
	}
	if seen.StateSchema, err = deps.Catalog.SchemaExists(ctx, ns.StateSchema()); err != nil {
		return seen, err
	}
	if seen.View, err = deps.Views.Describe(ctx, ns.ViewSchema()); err != nil {
		return seen, err
	}
	if seen.Source, err = topic(ctx, deps.Topics, ns.Spec.Source.Topic); err != nil {
		return seen, err
	}
	seen.Output, err = topic(ctx, deps.Topics, ns.Spec.Output.Topic)
	return seen, err
}

// topic asks the broker for one topic.
func topic(ctx context.Context, admin broker.Admin, name string) (*manifests.Topic, error) {
	info, err := admin.Describe(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("ask the broker for topic %s: %w", name, err)
	}
	if info == nil {
		return nil, nil
	}
	return &manifests.Topic{ID: info.ID, Partitions: info.Partitions, Configs: info.Configs, Starts: info.Starts, Ends: info.Ends}, nil
}

// Plan observes and plans. It writes nothing.
func Plan(ctx context.Context, deps Deps, ns *manifests.Namespace) (manifests.Plan, error) {
	seen, err := Observe(ctx, deps, ns)
	if errors.Is(err, postgres.ErrNotApplied) {
		// It was there a moment ago: something drops it at this moment.
		return manifests.Plan{}, fmt.Errorf("the catalog changes while it is read; try again: %w", err)
	}
	if err != nil {
		return manifests.Plan{}, err
	}
	return manifests.NewPlan(ns, seen), nil
}
