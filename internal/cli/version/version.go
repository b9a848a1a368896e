// Package version tells which build this is and which semantics version it implements (R03).
package version

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/manifests"
)

// Info describes one build of the program.
type Info struct {
	// Version is the module version, or "(devel)" for a build from a work tree.
	Version string `json:"version"`
	// Revision is the commit the binary was built from, empty where the build did not record it.
	Revision string `json:"revision"`
	// Modified says that the work tree had changes beyond Revision.
	Modified bool `json:"modified"`
	// Time is the commit time of Revision in RFC 3339, empty where not recorded.
	Time string `json:"time"`
	// Go is the version of the Go toolchain.
	Go string `json:"go"`
	// Platform is GOOS/GOARCH.
	Platform string `json:"platform"`
	// SemanticsVersion is the spec.semanticsVersion that this build implements.
	SemanticsVersion int64 `json:"semanticsVersion"`
}

// Current describes the running binary.
func Current() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return fromBuild(build)
}

// fromBuild picks what Info needs from the build's own record.
func fromBuild(build *debug.BuildInfo) Info {
	info := Info{
		Version:          build.Main.Version,
		Go:               build.GoVersion,
		Platform:         runtime.GOOS + "/" + runtime.GOARCH,
		SemanticsVersion: manifests.SemanticsVersion,
	}
	if info.Version == "" {
		info.Version = "(devel)"
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		case "vcs.time":
			info.Time = setting.Value
		}
	}
	return info
}

// String is the build in one word or a few, as reports carry it in their "code" field (S10, R03).
func (i Info) String() string {
	text := i.Version
	if i.Revision != "" {
		text += " " + i.Revision[:min(12, len(i.Revision))]
	}
	if i.Modified {
		text += " modified"
	}
	return text
}

// New returns the version command.
func New(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the build and the semantics version it implements",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			output, err := cmd.Flags().GetString("output")
			if err != nil {
				return fmt.Errorf("read the output format: %w", err)
			}
			return write(a.Stdout, output, Current())
		},
	}
}

// write renders the build as text or JSON.
func write(w io.Writer, output string, info Info) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(info); err != nil {
			return fmt.Errorf("write the version: %w", err)
		}
		return nil
	}
	_, err := fmt.Fprintf(w, "amendsctl %s\nsemantics version %d\n%s %s\n", info, info.SemanticsVersion, info.Go, info.Platform)
	if err != nil {
		return fmt.Errorf("write the version: %w", err)
	}
	return nil
}
