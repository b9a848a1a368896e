package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/postgres"
)

// Selector chooses one applied namespace: by a manifest (argument, -f, --file or --manifest), by -n NAME, or the only
// one there is.
type Selector struct {
	name     string
	manifest *load.Flags
}

// RegisterSelector declares the flags of the choice on a verb.
func RegisterSelector(cmd *cobra.Command) *Selector {
	s := &Selector{manifest: load.AddFlags(cmd)}
	cmd.Flags().StringVarP(&s.name, "namespace", "n", "", "applied namespace; needed where there is more than one")
	return s
}

// Applied loads the chosen namespace from the catalog, with its digests proven. A manifest must be the applied one,
// digest for digest. The error's exit code is 1 where nothing is applied, 2 where the choice is not clear, 4 for a bad
// manifest, and 5 where what is recorded is not what was asked for or cannot be used by this build.
func (s *Selector) Applied(ctx context.Context, a *app.App, catalog *postgres.Catalog, args []string) (*postgres.Applied, error) {
	name := s.name
	var wanted *manifests.Namespace
	if s.manifest.Given(args) {
		path, err := s.manifest.Path(args)
		if err != nil {
			return nil, err
		}
		if wanted, err = load.Manifest(a, path); err != nil {
			return nil, err
		}
		if name != "" && name != wanted.Name {
			return nil, exit.With(exit.Usage, fmt.Errorf("-n %s, and the manifest is of %s", name, wanted.Name))
		}
		name = wanted.Name
	}
	if name == "" {
		var err error
		if name, err = onlyOne(ctx, catalog); err != nil {
			return nil, err
		}
	}
	applied, err := catalog.Load(ctx, name)
	if err != nil {
		return nil, Refuse(err)
	}
	if wanted != nil && wanted.NamespaceDigest() != applied.NamespaceDigest {
		return nil, exit.With(exit.Refused, fmt.Errorf("the manifest has digest %s, namespace %s was applied with %s; see amendsctl plan",
			wanted.NamespaceDigest(), name, applied.NamespaceDigest))
	}
	return applied, nil
}

// onlyOne returns the name of the only applied namespace.
func onlyOne(ctx context.Context, catalog *postgres.Catalog) (string, error) {
	entries, err := catalog.List(ctx)
	if err != nil {
		return "", Refuse(err)
	}
	switch len(entries) {
	case 1:
		return entries[0].Name, nil
	case 0:
		return "", errors.New("no namespace is applied; begin with amendsctl apply")
	}
	var names []string
	for _, entry := range entries[:min(len(entries), 20)] {
		names = append(names, entry.Name)
	}
	return "", exit.With(exit.Usage, fmt.Errorf("%d namespaces are applied; choose with -n: %s", len(entries), strings.Join(names, ", ")))
}

// Refuse gives an error of the catalog, or of starting on what it recorded, its exit code: 5 where the namespace, its
// layout, its semantics version or its topics cannot be used, and nothing was touched; 1 for everything else. nil stays
// nil.
func Refuse(err error) error {
	var layout *postgres.LayoutError
	if errors.As(err, &layout) || errors.Is(err, postgres.ErrAltered) || errors.Is(err, postgres.ErrStateLost) {
		return exit.With(exit.Refused, oneLine(err))
	}
	if errors.Is(err, postgres.ErrUnfinished) {
		return exit.With(exit.Refused, oneLine(fmt.Errorf("%w; run that command again to finish it, or delete the namespace", err)))
	}
	if errors.Is(err, manifests.ErrSemanticsVersion) {
		return exit.With(exit.Refused, oneLine(fmt.Errorf("%w; use the amendsctl that applied it", err)))
	}
	if errors.Is(err, broker.ErrTopicChanged) {
		return exit.With(exit.Refused, oneLine(fmt.Errorf("%w; apply a new namespace with topics of its own", err)))
	}
	if errors.Is(err, postgres.ErrNotApplied) {
		err = NotApplied(err)
	}
	return oneLine(postgres.Explain(err))
}

// NotApplied adds to an error about a namespace that is not there what to do about it.
func NotApplied(err error) error {
	return fmt.Errorf("%w; see amendsctl get namespaces, or begin with amendsctl apply", err)
}
