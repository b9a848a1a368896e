package postgres

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds connections, pools and units of work that a test, or the code under test, left open.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
