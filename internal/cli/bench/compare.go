package bench

import (
	"context"
	_ "embed" // the peers
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/cli/progress"
	"amends.dev/amends/internal/exit"
)

//go:embed peers/peer.py
var peerScript string

// peer is an engine and the Python module that it is used through.
type peer struct{ name, module string }

// peers are the engines that are compared where the Python module is there.
var peers = []peer{
	{"duckdb", "duckdb"}, {"polars", "polars"}, {"datafusion", "datafusion"}, {"clickhouse", "chdb"},
}

// peerNames lists them.
func peerNames() string {
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// newCompare returns `bench compare`.
func newCompare(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Recompute one history with the oracle and with every other engine found, and print the ratios",
		Long: "compare runs `amendsctl oracle` and the same computation as a query in DuckDB, Polars, DataFusion and\n" +
			"ClickHouse, as far as their Python modules are installed, over the same files, each as a process of its own,\n" +
			"one after the other, several times over. Results are compared first: an engine that finds something else makes\n" +
			"the command fail. Medians are printed, and each peer's as a ratio to the oracle's.\n\n" +
			"With --dir the history is kept there and used again by the next run of the same flags.",
		Example: "  amendsctl bench compare --rows 1000000\n" +
			"  amendsctl bench compare --rows 10000000 --no-raw --dir ./history --runs 5",
		Args: cobra.NoArgs,
	}
	var h historyFlags
	h.add(cmd)
	dir := cmd.Flags().String("dir", "", "folder that keeps the history (default a temporary one)")
	python := cmd.Flags().String("python", "python3", "Python interpreter with the peers' modules")
	runs := cmd.Flags().Int("runs", 5, "number of runs of each engine")
	only := cmd.Flags().StringSlice("peers", nil, "peers to run (default all that are found): "+peerNames())
	output := cmd.Flags().StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *output != "text" && *output != "json" || *runs < 1 {
			return exit.With(exit.Usage, errors.New("want -o text or json, and --runs of at least 1"))
		}
		for _, name := range *only {
			if !slices.ContainsFunc(peers, func(p peer) bool { return p.name == name }) {
				return exit.With(exit.Usage, fmt.Errorf("--peers: there is no peer %q; want %s", name, peerNames()))
			}
		}
		if err := load.NotZero(cmd, defaulted...); err != nil {
			return err
		}
		path, remove, err := folder(*dir)
		if err != nil {
			return err
		}
		c := &comparison{app: a, python: *python, dir: path, runs: *runs, only: *only}
		err = c.run(cmd.Context(), &h)
		if e := remove(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		if *output == "json" {
			return json.NewEncoder(a.Stdout).Encode(c.engines)
		}
		return c.print(a.Stdout)
	}
	return cmd
}

// comparison is one run of bench compare.
type comparison struct {
	app     *app.App
	python  string
	dir     string
	runs    int
	only    []string // names of peers; empty is all
	engines []*contender
}

// contender is one engine and what was measured of it.
type contender struct {
	Name      string `json:"name"`
	WallMS    int64  `json:"wallMs"` // medians
	CPUMS     int64  `json:"cpuMs"`
	PeakBytes int64  `json:"peakBytes"`
	command   []string
	all       []sample
	result    map[string]json.Number
}

// sample is one process.
type sample struct {
	wall, cpu time.Duration
	peak      int64
}

// run measures all engines, interleaved.
func (c *comparison) run(ctx context.Context, flags *historyFlags) error {
	line := progress.Start(c.app)
	defer line.Stop()
	line.Phase("generate", 0)
	if err := flags.elsewhere(ctx, c.dir); err != nil {
		return err
	}
	if err := c.find(ctx); err != nil {
		return err
	}
	for n := range c.runs {
		for _, e := range c.engines {
			line.Phase(fmt.Sprintf("run %d of %d of %s", n+1, c.runs, e.Name), 0)
			if err := c.measure(ctx, e); err != nil {
				return fmt.Errorf("run %d of %s: %w", n+1, e.Name, err)
			}
			if first := c.engines[0]; !reflect.DeepEqual(e.result, first.result) {
				return fmt.Errorf("%s finds %v, %s %v: nothing is compared", e.Name, e.result, first.Name, first.result)
			}
		}
	}
	for _, e := range c.engines {
		e.medians()
	}
	return nil
}

// find lists the engines: this program first.
func (c *comparison) find(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	set := filepath.Join(c.dir, setName)
	c.engines = []*contender{{Name: "amends", command: []string{
		self, "oracle", filepath.Join(c.dir, manifestName), "--records", set, "-o", "summary",
	}}}
	script := filepath.Join(c.dir, "peer.py")
	if err := os.WriteFile(script, []byte(peerScript), 0o640); err != nil {
		return err
	}
	for _, p := range peers {
		if len(c.only) > 0 && !slices.Contains(c.only, p.name) {
			continue
		}
		if err := exec.CommandContext(ctx, c.python, "-c", "import "+p.module).Run(); err != nil {
			if len(c.only) > 0 {
				return fmt.Errorf("peer %s: %s cannot import the module %s; name an interpreter that has it with --python", p.name, c.python, p.module)
			}
			_, _ = fmt.Fprintf(c.app.Stderr, "%s: not found, the Python module %s cannot be imported\n", p.name, p.module)
			continue
		}
		c.engines = append(c.engines, &contender{Name: p.name, command: []string{
			c.python, script, p.name, filepath.Join(set, "part-*.parquet"), filepath.Join(c.dir, keysName), strconv.Itoa(runtime.NumCPU()),
		}})
	}
	return nil
}

// measure runs one process and reads its result.
func (c *comparison) measure(ctx context.Context, e *contender) error {
	cmd := exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := c.app.Now()
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil { // it was stopped on purpose
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s", err, errs.String())
	}
	s := cmd.ProcessState
	e.all = append(e.all, sample{c.app.Now().Sub(began), s.UserTime() + s.SystemTime(), peak(s)})
	e.result = nil
	if err := json.Unmarshal([]byte(out.String()), &e.result); err != nil {
		return fmt.Errorf("read its result %q: %w", out.String(), err)
	}
	return nil
}

// medians reduces the samples.
func (e *contender) medians() {
	median := func(of func(s sample) int64) int64 {
		all := make([]int64, len(e.all))
		for i, s := range e.all {
			all[i] = of(s)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	e.WallMS = median(func(s sample) int64 { return s.wall.Milliseconds() })
	e.CPUMS = median(func(s sample) int64 { return s.cpu.Milliseconds() })
	e.PeakBytes = median(func(s sample) int64 { return s.peak })
}

// print prints a table, each engine's figures also as multiples of the oracle's.
func (c *comparison) print(w io.Writer) error {
	first := c.engines[0]
	result, err := json.Marshal(first.result)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("equal results of all engines: %s\nmedians of %d interleaved runs, whole processes\n\n", result, c.runs)
	text += fmt.Sprintf("%-12s %10s %7s %10s %7s %10s %7s\n", "engine", "wall s", "ratio", "CPU s", "ratio", "peak MB", "ratio")
	ratio := func(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }
	for _, e := range c.engines {
		text += fmt.Sprintf("%-12s %10.2f %7.1f %10.2f %7.1f %10.0f %7.1f\n", e.Name,
			float64(e.WallMS)/1000, ratio(e.WallMS, first.WallMS), float64(e.CPUMS)/1000, ratio(e.CPUMS, first.CPUMS),
			float64(e.PeakBytes)/1e6, ratio(e.PeakBytes, first.PeakBytes))
	}
	_, err = io.WriteString(w, text)
	return err
}
