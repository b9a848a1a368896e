package generate_test

import (
	"testing"

	"github.com/spf13/cobra"

	cli "amends.dev/amends/internal/cli/generate"
	"amends.dev/amends/stages/generate"
)

// TestFlags: every option has its flag, and the defaults are those of the stage.
func TestFlags(t *testing.T) {
	cmd := &cobra.Command{Use: "generate"}
	o := cli.AddFlags(cmd)
	if err := cmd.ParseFlags(nil); err != nil || *o != generate.Defaults() {
		t.Errorf("%+v, %v", *o, err)
	}
	err := cmd.ParseFlags([]string{"--seed=18446744073709551615", "--count=7", "--rate=8", "--keys=9", "--days=10", "--amend-share=0.1", "--move-share=0.2",
		"--cancel-share", "0.01", "--backdate-share=0.02", "--duplicate-share=0.03", "--stale-share=0.04", "--conflict-share=0.05", "--malformed-share=0.06"})
	want := generate.Options{Seed: 1<<64 - 1, Count: 7, Rate: 8, Keys: 9, Days: 10, Amend: 100_000, Move: 200_000, Cancel: 10_000, Backdate: 20_000,
		Duplicate: 30_000, Stale: 40_000, Conflict: 50_000, Malformed: 60_000}
	if err != nil || *o != want {
		t.Errorf("got %+v, %v, want %+v", *o, err, want)
	}
	for _, bad := range []string{"--seed=-1", "--count=1.5", "--amend-share=15%", "--stale-share=1.5"} {
		if err := cmd.ParseFlags([]string{bad}); err == nil {
			t.Errorf("%s accepted", bad)
		}
	}
}
