package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/sim"
	"amends.dev/amends/internal/exit"
)

// invoke runs the verb and returns its stdout and error.
func invoke(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	var stdout bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: io.Discard, Now: time.Now, Getenv: func(string) string { return "" }}
	cmd := sim.New(a)
	cmd.Flags().StringP("output", "o", output, "as the root command has it")
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// TestSweep: seeds and code are printed, all seeds are counted, and nothing is found.
func TestSweep(t *testing.T) {
	out, err := invoke(t, "text", "--seeds", "1:8")
	if err != nil || !strings.HasPrefix(out, "seeds 1 to 8, code ") || !strings.Contains(out, "\n8 seeds, ") || !strings.HasSuffix(out, "no finding\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSweepJSON: the same numbers for programs.
func TestSweepJSON(t *testing.T) {
	out, err := invoke(t, "json", "--seeds", "3:6")
	var got struct {
		First, Last, Seeds int
		Verdicts           map[string]int
		Finding            any
	}
	if err = errors.Join(err, json.Unmarshal([]byte(out), &got)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total := 0
	for _, n := range got.Verdicts {
		total += n
	}
	if got.First != 3 || got.Last != 6 || got.Seeds != 4 || total != 4 || got.Finding != nil {
		t.Errorf("%+v", got)
	}
}

// TestSeed: one seed has the same trace each time, with its seed, code and digest.
func TestSeed(t *testing.T) {
	first, err := invoke(t, "text", "--seed", "5")
	if err != nil {
		t.Fatal(err)
	}
	second, err := invoke(t, "text", "--seed", "5")
	if err != nil || first != second {
		t.Errorf("%v: two runs of one seed differ", err)
	}
	if !strings.Contains(first, "\nseed 5, code ") || !strings.Contains(first, "; trace ") {
		t.Errorf("no last line: %s", first[len(first)-200:])
	}
}

// TestUsage: wrong flags are usage errors.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--seeds", "1:2", "--seed", "1"}, {"--seeds", "2:1"}, {"--seeds", "a:b"}, {"--seeds", "1:"}, {"--seeds", "0:9999999999"},
	} {
		if _, err := invoke(t, "text", args...); exit.Of(err) != exit.Usage {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}
