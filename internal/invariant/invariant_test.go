package invariant

import (
	"errors"
	"fmt"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check(true, "never %d", 1); err != nil {
		t.Errorf("Check of a condition that holds = %v, want nil", err)
	}
	err := Check(false, "frontier %d is above end %d", 7, 5)
	if err == nil || err.Error() != "invariant violated: frontier 7 is above end 5" {
		t.Errorf("Check of a broken condition = %v", err)
	}
}

func TestIs(t *testing.T) {
	violation := Violated("outbox sequence %d skipped", 4)
	if !Is(violation) || !Is(fmt.Errorf("commit the batch: %w", violation)) {
		t.Error("Is does not recognise a violation, plain or wrapped")
	}
	if Is(nil) || Is(errors.New("connection refused")) {
		t.Error("Is takes nil or a fault for a violation")
	}
}
