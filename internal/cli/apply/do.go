package apply

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// ErrRefused is wrapped where the plan has refusals: nothing was touched, and nothing but another manifest helps.
var ErrRefused = errors.New("refused")

// errRaced is wrapped where something else made a planned item between looking and doing.
var errRaced = errors.New("something else made it at the same moment; run the same command again")

// Do plans and does: afterwards topics, view, processing state and catalog row exist, or the error says why not. It
// returns the plan that it followed; an error wraps ErrRefused where the plan has refusals. Repeating it after any
// error, or a crash, completes what is missing.
func Do(ctx context.Context, deps Deps, ns *manifests.Namespace) (manifests.Plan, error) {
	plan, err := Plan(ctx, deps, ns)
	if err != nil {
		return plan, err
	}
	if plan.Refused > 0 {
		return plan, refused(plan)
	}
	return plan, execute(ctx, deps, ns, plan)
}

// refused is the one line that stands for a plan's refusals.
func refused(plan manifests.Plan) error {
	if len(plan.Refusals) == 1 {
		r := plan.Refusals[0]
		return fmt.Errorf("%w: namespace %s: %s: %s; nothing was touched", ErrRefused, plan.Namespace, r.Field, r.Reason)
	}
	return fmt.Errorf("%w: namespace %s: %d reasons, the first is %s: %s; nothing was touched",
		ErrRefused, plan.Namespace, plan.Refused, plan.Refusals[0].Field, plan.Refusals[0].Reason)
}

// execute does the items in the plan's order, which leaves the record for last.
func execute(ctx context.Context, deps Deps, ns *manifests.Namespace, plan manifests.Plan) error {
	if !plan.Pending() {
		return nil
	}
	ids := map[manifests.ItemKind]string{}
	for _, item := range plan.Items {
		if err := do(ctx, deps, ns, item, ids); err != nil {
			if errors.Is(err, kafka.ErrTopicExists) || errors.Is(err, postgres.ErrSchemaExists) || errors.Is(err, postgres.ErrAlreadyApplied) {
				return fmt.Errorf("apply namespace %s: %w: %w", ns.Name, errRaced, err)
			}
			return fmt.Errorf("apply namespace %s: %w", ns.Name, err)
		}
	}
	return nil
}

// do does one item. ids holds the topic IDs found or made so far.
func do(ctx context.Context, deps Deps, ns *manifests.Namespace, item manifests.Item, ids map[manifests.ItemKind]string) (err error) {
	switch item.Kind {
	case manifests.SourceTopic:
		ids[item.Kind], err = ensureTopic(ctx, deps, item, ns.Spec.Source.Partitions)
	case manifests.OutputTopic:
		ids[item.Kind], err = ensureTopic(ctx, deps, item, ns.Spec.Output.Partitions)
	case manifests.ViewSchemaItem:
		if item.Change != manifests.Unchanged {
			err = deps.Views.Create(ctx, ns, ids[manifests.OutputTopic])
		}
	case manifests.StateSchemaItem:
		// Made together with the record.
	case manifests.NamespaceRecord:
		if item.Change == manifests.Create {
			if err = deps.Catalog.Migrate(ctx); err == nil {
				err = deps.Catalog.Record(ctx, ns, ids[manifests.SourceTopic], ids[manifests.OutputTopic])
			}
		}
	default:
		err = fmt.Errorf("plan item of unknown kind %q", item.Kind)
	}
	return err
}

// ensureTopic returns the ID of a topic that was found equal, or of the one it creates.
func ensureTopic(ctx context.Context, deps Deps, item manifests.Item, partitions int32) (string, error) {
	if item.Change == manifests.Create {
		info, err := deps.Topics.Create(ctx, item.Name, partitions)
		if err != nil {
			return "", err
		}
		return info.ID, nil
	}
	found, err := topic(ctx, deps.Topics, item.Name)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", fmt.Errorf("topic %s was deleted at this moment; apply again", item.Name)
	}
	return found.ID, nil
}
