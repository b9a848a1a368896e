package e2e_test

import (
	"os"
	"testing"

	"amends.dev/amends/internal/testkit/child"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// TestMain is also the entry of the child processes that tests start.
func TestMain(m *testing.M) {
	if code, is := child.Main(run); is {
		os.Exit(code)
	}
	os.Exit(kafkatest.Main(m))
}
