// Package get is `amendsctl get`: the lists of things that a database keeps. Each kind of thing is a subcommand from a
// package of its own.
package get

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/exit"
)

// New returns the get command with one subcommand for each kind of thing.
func New(kinds ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get KIND",
		Short:   "List what is kept: one line for each",
		Long:    "get prints a list of things of one kind, the newest last. `amendsctl describe` shows one of them in full.",
		Example: Examples(kinds),
	}
	OfKinds(cmd)
	cmd.AddCommand(kinds...)
	return cmd
}

// Examples are the first example lines of each kind.
func Examples(kinds []*cobra.Command) string {
	var lines []string
	for _, kind := range kinds {
		first, _, _ := strings.Cut(kind.Example, "\n")
		lines = append(lines, first)
	}
	return strings.Join(lines, "\n")
}

// OfKinds makes a command one that needs a kind of thing, which are its subcommands.
func OfKinds(cmd *cobra.Command) {
	cmd.RunE = wanted
	cmd.SetFlagErrorFunc(func(failed *cobra.Command, err error) error {
		// Flags are the kinds': where one is unknown here, what stands before it is no kind.
		if args := failed.Flags().Args(); failed == cmd && len(args) > 0 {
			return wanted(cmd, args)
		}
		return err
	})
}

// wanted is the error, of exit code 2, of a command that needs a kind and was given none or an unknown one.
func wanted(cmd *cobra.Command, args []string) error {
	var names []string
	for _, kind := range cmd.Commands() {
		if kind.IsAvailableCommand() {
			names = append(names, kind.Name())
		}
	}
	known := strings.Join(names, ", ")
	if len(args) == 0 {
		return exit.With(exit.Usage, errors.New(cmd.Name()+" needs a kind: "+known))
	}
	return exit.With(exit.Usage, fmt.Errorf("%s knows no kind %q; there are: %s", cmd.Name(), args[0], known))
}
