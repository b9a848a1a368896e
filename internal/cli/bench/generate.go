package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
)

// newGenerate returns `bench generate`.
func newGenerate(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate --dir DIR",
		Short: "Generate a history as a snapshot with its manifest, and nothing more",
		Example: "  amendsctl bench generate --rows 10000000 --no-raw --dir ./history\n" +
			"  amendsctl oracle ./history/manifest.yaml --records ./history/snapshot -o summary",
		Args: cobra.NoArgs,
	}
	var h historyFlags
	h.add(cmd)
	dir := cmd.Flags().String("dir", "", "folder for the history")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *dir == "" {
			return exit.With(exit.Usage, errors.New("no folder given; name one with --dir"))
		}
		made, err := h.open(*dir)
		if err != nil {
			return err
		}
		word := "kept"
		if made.made {
			word = "written"
		}
		_, err = fmt.Fprintf(a.Stdout, "%d records %s in %s\n", h.config.Rows, word, *dir)
		return err
	}
	return cmd
}

// elsewhere generates the history in a process of its own. A child's peak memory is at least what its parent had when it
// started, so a process that measures others must stay small.
func (f *historyFlags) elsewhere(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := &f.config
	out, err := exec.CommandContext(ctx, self, "bench", "generate", "--dir", dir,
		"--rows", strconv.FormatInt(c.Rows, 10), "--keys", strconv.FormatInt(c.Keys, 10), "--skew", strconv.FormatInt(c.Skew, 10),
		"--days", strconv.FormatInt(c.Days, 10), "--partitions", strconv.FormatInt(int64(c.Partitions), 10),
		"--seed", strconv.FormatUint(c.Seed, 10), "--no-raw="+strconv.FormatBool(f.noRaw)).CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return exit.With(exit.Code(failed.ExitCode()), fmt.Errorf("generate the history: %s", out))
	}
	return err
}
