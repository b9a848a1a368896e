// Package load reads the namespace manifest for every verb of amendsctl: from a positional argument, -f, --file or
// --manifest, from stdin, with its stock-key file beside it. It also refuses zeros that nobody means.
package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
)

// keyFileBytesMax bounds a stock-key file, in bytes. It is some thirty million keys of common length.
const keyFileBytesMax = 1 << 30

// Flags are the flags by which a verb is given its manifest.
type Flags struct {
	file, manifest string
}

// AddFlags declares -f, --file and --manifest on a verb.
func AddFlags(cmd *cobra.Command) *Flags {
	f := &Flags{}
	cmd.Flags().StringVarP(&f.file, "file", "f", "", "namespace manifest, - for stdin")
	cmd.Flags().StringVar(&f.manifest, "manifest", "", "same as --file")
	return f
}

// Given reports whether a manifest was named by a flag or an argument. A verb that also takes -n uses it to choose.
func (f *Flags) Given(args []string) bool { return f.file != "" || f.manifest != "" || len(args) > 0 }

// Path returns the path of the manifest. No path at all, or two different ones, is an error with exit code 2.
func (f *Flags) Path(args []string) (string, error) {
	path := ""
	for _, candidate := range append([]string{f.file, f.manifest}, args...) {
		switch {
		case candidate == "" || candidate == path:
		case path == "":
			path = candidate
		default:
			return "", exit.With(exit.Usage, fmt.Errorf("two manifests given, %s and %s; want one", path, candidate))
		}
	}
	if path == "" {
		return "", exit.With(exit.Usage, errors.New("no manifest given; name a file or use -f"))
	}
	return path, nil
}

// Manifest reads and parses the manifest at path; "-" is stdin, whose stock-key file is beside the current folder's
// files. The error has exit code 4 and holds all problems, one a line (manifests.Problems can be unwrapped), or exit
// code 5 where the only problem is a semantics version of another build (R03).
func Manifest(a *app.App, path string) (*manifests.Namespace, error) {
	name, dir := path, filepath.Dir(path)
	if path == "-" {
		name, dir = "stdin", "."
	}
	data, err := readManifest(a, path)
	if err != nil {
		return nil, exit.With(exit.ManifestInvalid, fmt.Errorf("read manifest: %w", err))
	}
	ns, problems := manifests.Parse(name, data, func(file string) ([]byte, error) {
		return readKeyFile(filepath.Join(dir, filepath.FromSlash(file)))
	})
	switch {
	case ns != nil:
		return ns, nil
	case problems.UnsupportedVersionOnly():
		return nil, exit.With(exit.Refused, problems)
	case len(problems) == 1:
		return nil, exit.With(exit.ManifestInvalid, problems)
	}
	return nil, exit.With(exit.ManifestInvalid, fmt.Errorf("%d problems:\n%w", len(problems), problems))
}

// readManifest reads one byte more than a manifest may have, so that Parse can tell.
func readManifest(a *app.App, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(a.Stdin, manifests.ManifestBytesMax+1))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	return io.ReadAll(io.LimitReader(file, manifests.ManifestBytesMax+1))
}

// readKeyFile reads a stock-key file whole.
func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > keyFileBytesMax:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), keyFileBytesMax)
	}
	return os.ReadFile(path)
}

// NotZero refuses zero where it was given for a flag whose default is another number: nobody who asks for none means the
// default. The error has exit code 2.
func NotZero(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "0" {
			return exit.With(exit.Usage, fmt.Errorf("--%s 0; want at least 1, or leave it out", name))
		}
	}
	return nil
}
