package e2e_test

import (
	"os"
	"testing"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// TestMain is also the entry of the child processes that tests start.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(planEnv); ok {
		os.Exit(childMain(text))
	}
	os.Exit(kafkatest.Main(m))
}
