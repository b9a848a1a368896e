package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/oracle/arrow"
)

// newVerify returns `bench verify`.
func newVerify(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Generate a history as a snapshot, recompute it, and print how fast that was",
		Long: "verify makes a deterministic history of transactions and corrections, writes it as a snapshot, and has the\n" +
			"oracle recompute it with complete validation. It prints the time of each phase, records and bytes a second,\n" +
			"processor time, the peak memory of the process, and counts and sums of the result.\n\n" +
			"With --dir the history is kept there, with its manifest, and used again by the next run of the same flags.",
		Example: "  amendsctl bench verify --rows 1000000\n" +
			"  amendsctl bench verify --rows 10000000 --no-raw --dir ./history -o json",
		Args: cobra.NoArgs,
	}
	var h historyFlags
	h.add(cmd)
	dir := cmd.Flags().String("dir", "", "folder that keeps the history (default a temporary one)")
	fromRaw := cmd.Flags().Bool("from-raw", false, "decode the raw records again instead of reading typed columns")
	workers := cmd.Flags().Int("parallel", 0, "number of goroutines (default one for each processor)")
	memory := cmd.Flags().String("memory", "", "memory for records at a time, as 512MiB (default a quarter of the machine's)")
	output := cmd.Flags().StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *output != "text" && *output != "json" {
			return exit.With(exit.Usage, fmt.Errorf("unknown output %q; want text or json", *output))
		}
		if *fromRaw && h.noRaw {
			return exit.With(exit.Usage, fmt.Errorf("--from-raw needs the raw records that --no-raw leaves out"))
		}
		bytes, err := machine.Budget(*memory)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		path, remove, err := folder(*dir)
		if err != nil {
			return err
		}
		f, err := measure(cmd.Context(), a, &h, path, *fromRaw, arrow.Options{Workers: *workers, Memory: bytes})
		if e := remove(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		if *output == "json" {
			return json.NewEncoder(a.Stdout).Encode(f)
		}
		return f.print(a.Stdout)
	}
	return cmd
}

// figures are what one run measured.
type figures struct {
	Rows  int64  `json:"rows"`
	Keys  int    `json:"keys"`
	Files string `json:"files"` // typed or raw
	Bytes int64  `json:"bytes"`
	// Generate is absent where the folder held the history already.
	Generate  *phase         `json:"generate,omitempty"`
	Recompute phase          `json:"recompute"`
	PeakBytes int64          `json:"peakBytes"`
	Checksum  arrow.Checksum `json:"checksum"`
}

// phase is the time of one phase.
type phase struct {
	WallMS int64 `json:"wallMs"`
	CPUMS  int64 `json:"cpuMs"`
}

// stopwatch measures phases.
type stopwatch struct {
	now  func() time.Time
	wall time.Time
	cpu  time.Duration
}

// start begins a phase.
func start(now func() time.Time) stopwatch { return stopwatch{now, now(), cpu()} }

// stop ends it.
func (s stopwatch) stop() phase {
	return phase{s.now().Sub(s.wall).Milliseconds(), (cpu() - s.cpu).Milliseconds()}
}

// measure generates and recomputes.
func measure(ctx context.Context, a *app.App, flags *historyFlags, dir string, fromRaw bool, o arrow.Options) (*figures, error) {
	machine.Thrifty(a.Getenv)
	watch := start(a.Now)
	h, err := flags.open(dir)
	if err != nil {
		return nil, err
	}
	f := &figures{Rows: flags.config.Rows, Keys: len(h.namespace.Spec.StockKeys), Files: "typed"}
	if h.made {
		made := watch.stop()
		f.Generate = &made
	}
	watch = start(a.Now)
	var r *arrow.Result
	if fromRaw {
		f.Files = "raw"
		source, err := h.snapshot.Raw()
		if err != nil {
			return nil, err
		}
		r, err = arrow.Engine{}.ComputeRaw(ctx, h.namespace, source, o)
		if err != nil {
			return nil, err
		}
	} else if r, err = (arrow.Engine{}).ComputeColumns(ctx, h.namespace, h.snapshot.Typed(), o); err != nil {
		return nil, err
	}
	f.Recompute = watch.stop()
	f.Checksum, f.PeakBytes = r.Checksum(), ownPeak()
	kind := map[bool]string{false: "part", true: "raw"}[fromRaw]
	f.Bytes, err = h.bytes(kind)
	return f, err
}

// print prints the figures for people.
func (f *figures) print(w io.Writer) error {
	line := func(name string, p phase, bytes int64) string {
		seconds := max(float64(p.WallMS)/1000, 0.001)
		text := fmt.Sprintf("%-10s %8.2f s %8.2f CPU s %12.0f records/s", name, seconds, float64(p.CPUMS)/1000, float64(f.Rows)/seconds)
		if bytes > 0 {
			text += fmt.Sprintf(" %8.1f MB/s", float64(bytes)/1e6/seconds)
		}
		return text + "\n"
	}
	text := fmt.Sprintf("%d records, %d stock keys, %.1f MB of %s files\n", f.Rows, f.Keys, float64(f.Bytes)/1e6, f.Files)
	if f.Generate != nil {
		text += line("generate", *f.Generate, 0)
	}
	text += line("recompute", f.Recompute, f.Bytes)
	text += fmt.Sprintf("peak memory of the process: %.0f MB\n", float64(f.PeakBytes)/1e6)
	sum, err := json.Marshal(f.Checksum)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%sresult: %s\n", text, sum)
	return err
}
