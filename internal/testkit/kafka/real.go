package kafkatest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shared is the one real broker of this test process, started by the first test that asks.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Real returns the real Apache Kafka broker that all tests of this process share. It starts on first use (2 to 7
// seconds; the first time on a machine Maven also fetches 43 MB). Where it cannot start the test skips with the
// reason, or fails if AMENDS_TEST_REQUIRE names kafka.
func Real(t testing.TB) *Cluster {
	t.Helper()
	requireTools(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start(false)
	}
	if shared.err != nil {
		unavailable(t, "no real Kafka broker: "+shared.err.Error())
	}
	return &shared.server.Cluster
}

// Main runs the tests of a package that uses Real and then stops the shared broker and removes its folder. Use it as
// the body of TestMain: func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }. Without it the broker still ends
// with the process, and its folder goes with the next one that is started on this machine.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.remove()
	}
	return code
}

// StartServer starts a real broker of the test's own, which it may Kill and Restart. It is removed when the test ends.
// It skips or fails as Real does.
func StartServer(t testing.TB) *Server {
	t.Helper()
	requireTools(t)
	server, err := start(true)
	if err != nil {
		unavailable(t, "no real Kafka broker: "+err.Error())
	}
	t.Cleanup(server.remove)
	return server
}

// requireTools checks what the machine must have.
func requireTools(t testing.TB) {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			unavailable(t, "a real Kafka broker needs "+tool+" on PATH (Java 17 or later, and Maven to fetch the broker)")
		}
	}
}

// unavailable ends the test: as a failure where AMENDS_TEST_REQUIRE names kafka, else as a skip.
func unavailable(t testing.TB, reason string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("AMENDS_TEST_REQUIRE"), ","), "kafka") {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
