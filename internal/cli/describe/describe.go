// Package describe is `amendsctl describe`: one thing that a database keeps, in full. Each kind of thing is a subcommand
// from a package of its own.
package describe

import (
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/get"
)

// New returns the describe command with one subcommand for each kind of thing.
func New(kinds ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "describe KIND NAME",
		Short:   "Show one thing that is kept, in full",
		Long:    "describe shows one thing of a kind. `amendsctl get` lists which there are.",
		Example: get.Examples(kinds),
	}
	get.OfKinds(cmd)
	cmd.AddCommand(kinds...)
	return cmd
}
