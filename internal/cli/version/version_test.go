package version

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"
)

func TestFromBuild(t *testing.T) {
	f := func(build debug.BuildInfo, want string) {
		t.Helper()
		if got := fromBuild(&build).String(); got != want {
			t.Errorf("fromBuild(%+v) = %q, want %q", build, got, want)
		}
	}
	stamp := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	f(debug.BuildInfo{}, "(devel)")
	f(debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3")
	f(debug.BuildInfo{Settings: stamp("0123456789abcdef", "false")}, "(devel) 0123456789ab")
	f(debug.BuildInfo{Settings: stamp("0123456789abcdef", "true")}, "(devel) 0123456789ab modified")
	f(debug.BuildInfo{Settings: stamp("0123", "false")}, "(devel) 0123")
}

// TestR03VersionNamesSemantics holds the semantics version in both formats.
func TestR03VersionNamesSemantics(t *testing.T) {
	for output, want := range map[string]string{"text": "semantics version 1\n", "json": `"semanticsVersion": 1`} {
		var b strings.Builder
		if err := write(&b, output, Current()); err != nil {
			t.Fatalf("write %s: %v", output, err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s output %q does not contain %q", output, b.String(), want)
		}
	}
}

func TestWriteReportsAFailingStream(t *testing.T) {
	for _, output := range []string{"text", "json"} {
		if err := write(brokenWriter{}, output, Current()); !errors.Is(err, errBroken) {
			t.Errorf("write %s to a broken stream = %v, want it to wrap %v", output, err, errBroken)
		}
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
