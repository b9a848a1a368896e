package root

import (
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/bench"
	"amends.dev/amends/internal/cli/compare"
	"amends.dev/amends/internal/cli/conformance"
	deleting "amends.dev/amends/internal/cli/delete"
	"amends.dev/amends/internal/cli/demo"
	"amends.dev/amends/internal/cli/describe"
	"amends.dev/amends/internal/cli/explain"
	"amends.dev/amends/internal/cli/export"
	"amends.dev/amends/internal/cli/generate"
	"amends.dev/amends/internal/cli/get"
	"amends.dev/amends/internal/cli/namespaces"
	"amends.dev/amends/internal/cli/oracle"
	"amends.dev/amends/internal/cli/plan"
	"amends.dev/amends/internal/cli/rebuild"
	"amends.dev/amends/internal/cli/replay"
	"amends.dev/amends/internal/cli/resume"
	"amends.dev/amends/internal/cli/run"
	"amends.dev/amends/internal/cli/sim"
	"amends.dev/amends/internal/cli/simulate"
	"amends.dev/amends/internal/cli/status"
	"amends.dev/amends/internal/cli/submit"
	"amends.dev/amends/internal/cli/validate"
	"amends.dev/amends/internal/cli/verifications"
	"amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/cli/version"
)

// group is a part of the command list in help.
type group struct {
	title string
	verbs []*cobra.Command
}

// verbs are the commands of amendsctl, each a package of its own. A new verb is one call here.
func verbs(a *app.App) []group {
	return []group{
		{"Start here:", []*cobra.Command{demo.New(a), version.New(a)}},
		{"Declare a namespace:", []*cobra.Command{validate.New(a), plan.New(a), apply.New(a), deleting.New(a)}},
		{"Run the pipeline:", []*cobra.Command{generate.New(a), submit.New(a), run.New(a), status.New(a)}},
		{"Check results:", []*cobra.Command{verify.New(a), explain.New(a), export.New(a), oracle.New(a), simulate.New(a), sim.New(a), conformance.New(a), bench.New(a)}},
		{"Recover:", []*cobra.Command{replay.New(a), rebuild.New(a), compare.New(a), resume.New(a)}},
		{"Look at what is kept:", []*cobra.Command{get.New(namespaces.NewList(a), verifications.NewGet(a)), describe.New(namespaces.NewDescribe(a), verifications.NewDescribe(a))}},
	}
}
