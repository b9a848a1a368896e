package connect

import (
	"errors"
	"fmt"
	"testing"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/stages/postgres"
)

func TestRefuse(t *testing.T) {
	if err := Refuse(nil); err != nil {
		t.Errorf("Refuse(nil) = %#v, want nil", err)
	}
	f := func(err error, want exit.Code) {
		t.Helper()
		if got := exit.Of(Refuse(err)); got != want {
			t.Errorf("Refuse(%v) has code %d, want %d", err, got, want)
		}
	}
	f(fmt.Errorf("find the namespace: %w", postgres.ErrAltered), exit.Refused)
	f(fmt.Errorf("find the namespace: %w", postgres.ErrStateLost), exit.Refused)
	f(errors.New("connection refused"), exit.Error)
}
