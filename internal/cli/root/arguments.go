package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nameArguments makes the command and its subcommands say by name which arguments they want, where cobra
// counts them.
func nameArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return fmt.Errorf("%s wants %s, not %s", cmd.CommandPath(), wanted(cmd), given(args))
		}
	}
	for _, child := range cmd.Commands() {
		nameArguments(child)
	}
}

// wanted are the arguments of a command's usage line, which stand before its flags.
func wanted(cmd *cobra.Command) string {
	var arguments []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(word, "-") || word == "[flags]" {
			break
		}
		arguments = append(arguments, word)
	}
	if len(arguments) == 0 {
		return "no arguments"
	}
	return strings.Join(arguments, " ")
}

// given are the arguments of a command line.
func given(args []string) string {
	if len(args) == 0 {
		return "nothing"
	}
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, fmt.Sprintf("%q", arg))
	}
	return strings.Join(quoted, " ")
}
