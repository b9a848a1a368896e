package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// ErrInUse is wrapped where a namespace cannot be deleted because something still works on it.
var ErrInUse = errors.New("stages of this namespace run")

// Deleting is the deletion of one namespace.
type Deleting struct {
	Entry   postgres.Entry
	Catalog *postgres.Catalog
	// CatalogPool's search_path is the catalog's schema; ViewPool is on the view's database.
	CatalogPool, ViewPool *postgres.Pool
	Admin                 *kafka.Admin
	// WithTopics deletes the output topic too, and the source topic where no other namespace reads it.
	WithTopics bool
}

// Deleted is what a deletion did.
type Deleted struct {
	Namespace string `json:"namespace"`
	// TopicsDeleted and TopicsKept are names; a topic that was gone counts as deleted.
	TopicsDeleted []string    `json:"topicsDeleted"`
	TopicsKept    []KeptTopic `json:"topicsKept"`
}

// KeptTopic is a topic that a deletion left, and why.
type KeptTopic struct {
	Topic  string `json:"topic"`
	Reason string `json:"reason"`
}

// Delete deletes view, topics where asked for, processing state and catalog row, in this order: cut off anywhere, the row is
// still there, every verb refuses the namespace, and deleting again finishes. An error wraps ErrInUse, and nothing was
// changed, where stages run; nor was it where the view is another one's or another build's.
func Delete(ctx context.Context, d Deleting) (Deleted, error) {
	done := Deleted{Namespace: d.Entry.Name, TopicsDeleted: []string{}, TopicsKept: []KeptTopic{}}
	views := postgres.NewViews(d.ViewPool)
	if _, err := views.Owns(ctx, d.Entry); err != nil {
		return done, err
	}
	if err := d.unused(ctx); err != nil {
		return done, err
	}
	former, err := d.Catalog.BeginDeletion(ctx, d.Entry.Name)
	if err != nil {
		return done, err
	}
	// A stage that had loaded the namespace before it was marked may have started since.
	if err := d.unused(ctx); err != nil {
		return done, errors.Join(err, d.Catalog.AbandonDeletion(ctx, d.Entry.Name, former))
	}
	if err := views.Drop(ctx, d.Entry); err != nil {
		return done, err
	}
	if err := d.topics(ctx, &done); err != nil {
		return done, err
	}
	return done, d.Catalog.Delete(ctx, d.Entry)
}

// ReplayName is what a replay calls itself in its sessions, as a stage does by its own name.
const ReplayName = "replay"

// RebuildName is what a rebuild calls itself in its sessions, on the namespace that it reads and on the one it makes.
const RebuildName = "rebuild"

// unused fails where anything works on the namespace: a session of a stage, of intake, of a replay or of a rebuild, a live
// lease of the relay or of a writer, or a member of the consumer group.
func (d Deleting) unused(ctx context.Context) error {
	var signs []string
	for _, pool := range []*postgres.Pool{d.CatalogPool, d.ViewPool} {
		stages, err := postgres.Connected(ctx, pool, d.Entry.Name, append(All(), Intake, ReplayName, RebuildName)...)
		if err != nil {
			return err
		}
		for _, stage := range stages {
			if sign := stage + " is connected to the database"; !slices.Contains(signs, sign) { // it may be one database
				signs = append(signs, sign)
			}
		}
	}
	leases, err := d.leases(ctx)
	if err != nil {
		return err
	}
	signs = append(signs, leases...)
	members, err := d.Admin.GroupMembers(ctx, GroupName(d.Entry.Name))
	if err != nil {
		return err
	}
	if len(members) > 0 {
		signs = append(signs, fmt.Sprintf("consumer group %s has %d members", GroupName(d.Entry.Name), len(members)))
	}
	if len(signs) > 0 {
		return fmt.Errorf("%w: %s", ErrInUse, strings.Join(signs, ", "))
	}
	return nil
}

// leases are the live ones.
func (d Deleting) leases(ctx context.Context) ([]string, error) {
	var signs []string
	live, holder, err := postgres.RelayLease(ctx, d.CatalogPool, d.Entry.StateSchema)
	if err != nil {
		return nil, err
	}
	if live {
		signs = append(signs, "the relay's lease is held by "+holder)
	}
	shared, err := d.shared(ctx)
	if err != nil || shared != "" {
		return signs, err // a writer of a shared source topic may be another namespace's
	}
	writers, err := postgres.WriterLeases(ctx, d.CatalogPool, d.Entry.SourceTopicID)
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		if w.Held {
			signs = append(signs, "the writer lease of "+d.Entry.SourceTopic+" is held by "+w.Holder)
		}
	}
	return signs, nil
}

// shared names another namespace that reads the source topic, empty where there is none.
func (d Deleting) shared(ctx context.Context) (string, error) {
	entries, err := d.Catalog.List(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name != d.Entry.Name && (e.SourceTopic == d.Entry.SourceTopic || e.SourceTopicID == d.Entry.SourceTopicID) {
			return e.Name, nil
		}
	}
	return "", nil
}

// topics deletes the topics that are this namespace's alone.
func (d Deleting) topics(ctx context.Context, done *Deleted) error {
	e := d.Entry
	if !d.WithTopics {
		done.TopicsKept = []KeptTopic{{e.OutputTopic, "not asked for; no other namespace can use it, delete it with the brokers' tools"}, {e.SourceTopic, "not asked for"}}
		return nil
	}
	all := []kafka.Topic{{Name: e.OutputTopic, ID: e.OutputTopicID}}
	shared, err := d.shared(ctx)
	if err != nil {
		return err
	}
	if shared == "" {
		all = append(all, kafka.Topic{Name: e.SourceTopic, ID: e.SourceTopicID})
	} else {
		done.TopicsKept = append(done.TopicsKept, KeptTopic{e.SourceTopic, "namespace " + shared + " reads it"})
	}
	for _, topic := range all {
		switch err := d.Admin.DeleteTopic(ctx, topic); {
		case errors.Is(err, broker.ErrTopicChanged):
			done.TopicsKept = append(done.TopicsKept, KeptTopic{topic.Name, "it was recreated and is not this namespace's"})
		case err != nil:
			return err
		default:
			done.TopicsDeleted = append(done.TopicsDeleted, topic.Name)
		}
	}
	return nil
}
