package verify

import (
	"context"
	"errors"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// nameless is an engine that does not say which decoder it has.
type nameless struct{}

func (nameless) Name() string { return "other" }

func (nameless) Compute(context.Context, *manifests.Namespace, engine.History) (*projection.Projection, error) {
	return nil, errors.New("not called")
}

// TestR26WhoMayJudge: an engine that shares engine or decoder with what built the state may not judge it, and is refused
// where it is asked for by name.
func TestR26WhoMayJudge(t *testing.T) {
	all := []engine.Engine{arrow.Engine{}, reference.Engine{}, nameless{}}
	for _, c := range []struct{ builtBy, asked, want string }{
		{"stream", "auto", "arrow"}, {"stream", "reference", "reference"}, {"", "auto", "arrow"},
		{"arrow decoder=columnar version=1 through=[3 4]", "auto", "reference"},
		{"arrow decoder=columnar version=1 through=[3 4]", "arrow", ""},
		{"arrow decoder=columnar version=1 through=[3 4]", "reference", "reference"},
		{"arrow decoder=columnar version=1 through=[3 4]", "other", "other"},
		{"spark decoder=columnar", "arrow", ""}, // the decoder alone is enough
		{"spark decoder=columnar", "auto", "reference"},
		{"spark decoder=reference", "auto", "arrow"},
		{"reference decoder=reference", "reference", ""},
		{"arrows decoder=another", "arrow", "arrow"}, // a name that only begins alike
		{"stream", "spark", ""},
	} {
		e, err := pick(all, c.asked, c.builtBy)
		switch {
		case c.want == "" && !errors.Is(err, ErrRefused):
			t.Errorf("built by %q, %s asked for: %v, want a refusal", c.builtBy, c.asked, err)
		case c.want != "" && (err != nil || e.Name() != c.want):
			t.Errorf("built by %q, %s asked for: %v, %v, want %s", c.builtBy, c.asked, e, err, c.want)
		}
	}
	if _, err := pick([]engine.Engine{arrow.Engine{}}, EngineAuto, "arrow decoder=columnar"); !errors.Is(err, ErrRefused) {
		t.Errorf("no other engine: %v", err)
	}
}
