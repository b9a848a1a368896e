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
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/cli/progress"
	"amends.dev/amends/internal/exit"
)

// newGenerate returns `bench generate`.
func newGenerate(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate --dir DIR",
		Short: "Generate a history as a snapshot with its manifest, and nothing more",
		Long: "generate makes a deterministic history of transactions and corrections: amendments, moved days, cancellations,\n" +
			"exact duplicates, stale revisions, conflicts at lower and at highest revisions, rejected records. It says first what\n" +
			"disk that needs, and refuses where the disk has less. The same flags make the same bytes on every machine.",
		Example: "  amendsctl bench generate --rows 10000000 --no-raw --dir ./history\n" +
			"  amendsctl oracle ./history/manifest.yaml --records ./history/snapshot -o summary",
		Args: cobra.NoArgs,
	}
	var h historyFlags
	h.add(cmd)
	dir := cmd.Flags().String("dir", "", "folder for the history")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *dir == "" {
			return exit.With(exit.Usage, errors.New("no folder given; name one with --dir"))
		}
		if err := load.NotZero(cmd, defaulted...); err != nil {
			return err
		}
		line := progress.Start(a)
		watch := start(a.Now)
		made, err := h.open(cmd.Context(), a, *dir, line)
		line.Stop()
		if err != nil {
			return err
		}
		if made.room == nil {
			_, err = fmt.Fprintf(a.Stdout, "%d records kept in %s\n", h.config.Rows, *dir)
			return err
		}
		bytes, err := made.bytes(made.snapshot.Files())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "%d records written in %s\n%s", h.config.Rows, *dir, watch.stop(h.config.Rows, bytes).line("generate"))
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
	args := []string{
		"bench", "generate", "--dir", dir, "--rows", strconv.FormatInt(c.Rows, 10), "--skew", strconv.FormatInt(c.Skew, 10),
		"--seed", strconv.FormatUint(c.Seed, 10), "--no-raw=" + strconv.FormatBool(f.noRaw),
	}
	for i, n := range []int64{c.Keys, c.Days, int64(c.Partitions)} {
		if n != 0 {
			args = append(args, "--"+defaulted[i], strconv.FormatInt(n, 10))
		}
	}
	out, err := exec.CommandContext(ctx, self, args...).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return exit.With(exit.Code(failed.ExitCode()), fmt.Errorf("generate the history: %s", out))
	}
	return err
}
