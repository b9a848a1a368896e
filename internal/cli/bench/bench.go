// Package bench is `amendsctl bench`: how fast a full verification is on this machine, and against other engines that do
// the same.
package bench

import (
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
)

// New returns the bench command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the oracle on a generated history of any size",
	}
	cmd.AddCommand(newGenerate(a), newVerify(a), newCompare(a), newDecode(a))
	return cmd
}
