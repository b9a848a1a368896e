package get_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/describe"
	"amends.dev/amends/internal/cli/get"
	"amends.dev/amends/internal/exit"
)

// TestKinds: a kind runs; none, or one that is not known, is a usage error that names those there are.
func TestKinds(t *testing.T) {
	ran := ""
	kind := func(name string) *cobra.Command {
		return &cobra.Command{Use: name, Example: "  amendsctl " + name + "\n  second", RunE: func(*cobra.Command, []string) error {
			ran = name
			return nil
		}}
	}
	for _, parent := range []func(...*cobra.Command) *cobra.Command{get.New, describe.New} {
		run := func(args ...string) error {
			cmd := parent(kind("apples"), kind("pears"))
			root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(cmd)
			root.SetArgs(append([]string{cmd.Name()}, args...))
			root.SetOut(io.Discard)
			return root.ExecuteContext(context.Background())
		}
		if err := run("pears"); err != nil || ran != "pears" {
			t.Fatalf("%v, ran %q", err, ran)
		}
		for _, args := range [][]string{{}, {"plums"}} {
			err := run(args...)
			if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "apples, pears") {
				t.Errorf("%q: %v", args, err)
			}
		}
		if example := parent(kind("apples"), kind("pears")).Example; example != "  amendsctl apples\n  amendsctl pears" {
			t.Errorf("example %q", example)
		}
	}
}
