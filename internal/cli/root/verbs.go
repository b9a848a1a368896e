package root

import (
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/validate"
	"amends.dev/amends/internal/cli/version"
)

// verbs are the commands of amendsctl, each a package of its own. A new verb is one line here.
func verbs(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		validate.New(a),
		version.New(a),
	}
}
