package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/progress"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized/snapshot"
)

// The files of a history's folder.
const (
	manifestName = "manifest.yaml"
	keysName     = "keys.csv"
	setName      = "snapshot"
)

// historyFlags say what history is measured.
type historyFlags struct {
	config synthetic.Config
	noRaw  bool
}

// add adds the flags to a command.
func (f *historyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int64Var(&f.config.Rows, "rows", 1_000_000, "number of records")
	flags.Int64Var(&f.config.Keys, "keys", 0, "number of stock keys (default one for 250 records)")
	flags.Int64Var(&f.config.Skew, "skew", 110, "how unequally busy keys are: a Zipf exponent in percent, 0 for all alike")
	flags.Int64Var(&f.config.Days, "days", 730, "days from the first record to the last")
	flags.Int32Var(&f.config.Partitions, "partitions", 8, "number of source partitions")
	flags.Uint64Var(&f.config.Seed, "seed", 0, "another history of the same shape")
	flags.BoolVar(&f.noRaw, "no-raw", false, "make typed files only, without the raw records")
}

// defaulted are those of the flags whose zero stands for a default.
var defaulted = []string{"keys", "days", "partitions"}

// history is a generated history on disk.
type history struct {
	namespace *manifests.Namespace
	snapshot  *snapshot.Snapshot
	dir       string
	// room is what generating it needed; nil where the folder held it already.
	room *room
}

// open opens the history of a folder, or generates it there, after it has said what disk that needs. The folder of another
// history is refused.
func (f *historyFlags) open(ctx context.Context, a *app.App, dir string, line *progress.Line) (*history, error) {
	c := f.config
	c.Raw = !f.noRaw
	h, err := synthetic.New(c)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	set := filepath.Join(dir, setName)
	s, err := snapshot.Open(set)
	if err == nil {
		return &history{namespace: h.Namespace, snapshot: s, dir: dir}, sameHistory(h, s)
	}
	if !errors.Is(err, snapshot.ErrNone) {
		return nil, err
	}
	room := f.room(dir, int64(len(h.Namespace.Spec.StockKeys)))
	if _, err := fmt.Fprintln(a.Stderr, room); err != nil {
		return nil, err
	}
	if err := room.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	if err := writeManifest(dir, h.Namespace); err != nil {
		return nil, err
	}
	line.Phase("generate", c.Rows)
	if err := h.WriteContext(ctx, set, line.Add); err != nil {
		return nil, err
	}
	s, err = snapshot.Open(set)
	return &history{h.Namespace, s, dir, &room}, err
}

// sameHistory checks that a folder holds the history that is asked for, as far as its description tells.
func sameHistory(h *synthetic.History, s *snapshot.Snapshot) error {
	meta := s.Meta()
	if meta.NamespaceDigest != h.Namespace.NamespaceDigest() || meta.TopicID != h.TopicID() || !slices.Equal(meta.Ends, h.Rows()) {
		return exit.With(exit.Refused, errors.New("the folder holds another history; name another one with --dir"))
	}
	return nil
}

// writeManifest writes the namespace as a manifest beside its keys.
func writeManifest(dir string, ns *manifests.Namespace) error {
	var keys strings.Builder
	keys.WriteString("item,location,openingBalance,reorderThreshold\n")
	for _, k := range ns.Spec.StockKeys {
		fmt.Fprintf(&keys, "%s,%s,%d,%d\n", k.Item, k.Location, k.OpeningBalance, k.ReorderThreshold)
	}
	spec := &ns.Spec
	text := fmt.Sprintf(`apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: %s}
spec:
  ledgerOrigin: %q
  source: {topic: %s, partitions: %d}
  output: {topic: %s, partitions: %d}
  stockKeysFrom: {file: %s, sha256: "%x"}
`, ns.Name, spec.LedgerOriginText(), spec.Source.Topic, spec.Source.Partitions, spec.Output.Topic, spec.Output.Partitions,
		keysName, sha256.Sum256([]byte(keys.String())))
	if err := os.WriteFile(filepath.Join(dir, keysName), []byte(keys.String()), 0o640); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), []byte(text), 0o640)
}

// bytes is the size of some of the files.
func (h *history) bytes(files []snapshot.File) (int64, error) {
	var total int64
	for _, f := range files {
		info, err := os.Stat(filepath.Join(h.dir, setName, f.Name))
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// folder is the folder of a run: the one named, which is kept, or a temporary one.
func folder(dir string) (path string, remove func() error, err error) {
	if dir != "" {
		return dir, func() error { return nil }, nil
	}
	path, err = os.MkdirTemp("", "amends-bench-")
	return path, func() error {
		if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}, err
}
