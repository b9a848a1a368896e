package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/cli/progress"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/vectorized/snapshot"
)

// newVerify returns `bench verify`.
func newVerify(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Generate a history as a snapshot, recompute it, and print how fast that was",
		Long: "verify makes a deterministic history of transactions and corrections, writes it as a snapshot, and has the\n" +
			"oracle recompute it with complete validation. It says first what disk that needs, and refuses where the disk has\n" +
			"less. It prints the time of each phase, records and bytes a second, processor time, peak memory, and counts and\n" +
			"sums of the result. A partition whose records do not fit into --memory is read several times over, for some of its\n" +
			"keys at a time; that is said too.\n\n" +
			"With --dir the history is kept there, with its manifest, and used again by the next run of the same flags.",
		Example: "  amendsctl bench verify --rows 1000000\n" +
			"  amendsctl bench verify --rows 10000000 --no-raw --dir ./history -o json",
		Args: cobra.NoArgs,
	}
	var o verifyOptions
	o.history.add(cmd)
	flags := cmd.Flags()
	dir := flags.String("dir", "", "folder that keeps the history (default a temporary one)")
	flags.StringVar(&o.engine, "engine", arrow.Engine{}.Name(), "arrow (columnar) or reference (row by row, for small histories)")
	flags.BoolVar(&o.fromRaw, "from-raw", false, "decode the raw records again instead of reading typed columns")
	flags.IntVar(&o.columnar.Workers, "parallel", 0, "number of goroutines of the engine arrow (default one for each processor)")
	memory := flags.String("memory", "", "memory for records at a time, as 512MiB (default a quarter of the machine's)")
	output := flags.StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *output != "text" && *output != "json" {
			return exit.With(exit.Usage, fmt.Errorf("unknown output %q; want text or json", *output))
		}
		if err := load.NotZero(cmd, append(defaulted, "parallel")...); err != nil {
			return err
		}
		if err := o.check(*memory); err != nil {
			return exit.With(exit.Usage, err)
		}
		path, remove, err := folder(*dir)
		if err != nil {
			return err
		}
		f, err := measure(cmd.Context(), a, &o, path)
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

// verifyOptions are the flags of bench verify.
type verifyOptions struct {
	history  historyFlags
	engine   string
	fromRaw  bool
	columnar arrow.Options
}

// check finds flags that make no sense, and fills the memory in.
func (o *verifyOptions) check(memory string) (err error) {
	row := o.engine == reference.Engine{}.Name()
	switch {
	case !row && o.engine != arrow.Engine{}.Name():
		return fmt.Errorf("unknown engine %q; want arrow or reference", o.engine)
	case row && o.history.noRaw:
		return errors.New("the engine reference needs the raw records that --no-raw leaves out")
	case o.fromRaw && o.history.noRaw:
		return errors.New("--from-raw needs the raw records that --no-raw leaves out")
	case o.columnar.Workers < 0:
		return fmt.Errorf("--parallel %d; want at least 1", o.columnar.Workers)
	}
	o.fromRaw = o.fromRaw || row
	o.columnar.Memory, err = machine.Budget(memory)
	return err
}

// figures are what one run measured.
type figures struct {
	Rows   int64  `json:"rows"`
	Keys   int    `json:"keys"`
	Engine string `json:"engine"`
	Files  string `json:"files"` // typed or raw
	Bytes  int64  `json:"bytes"`
	// Disk and Generate are absent where the folder held the history already.
	Disk      *room  `json:"disk,omitempty"`
	Generate  *phase `json:"generate,omitempty"`
	Recompute phase  `json:"recompute"`
	// ReadAgain is about partitions that do not fit into memory; absent for the engine reference, which keeps no records.
	ReadAgain *readAgain `json:"readAgain,omitempty"`
	PeakBytes int64      `json:"peakBytes"`
	// Checksum is an arrow.Checksum; of the engine reference the arrow.Sums in it, which is what its projection tells.
	Checksum any `json:"checksum"`
}

// readAgain tells what did not fit into memory. Nothing is written to disk for that: what is not kept is read again.
type readAgain struct {
	Partitions  int   `json:"partitions"`
	Times       int   `json:"times"` // that the files of the one with most were read
	MemoryBytes int64 `json:"memoryBytes"`
	// HeldBytes is what the rows of one partition took at a time, at least: more than the memory where it cannot be divided
	// further.
	HeldBytes int64 `json:"heldBytes"`
}

// measure generates and recomputes.
func measure(ctx context.Context, a *app.App, o *verifyOptions, dir string) (*figures, error) {
	machine.Thrifty(a.Getenv)
	line := progress.Start(a)
	defer line.Stop()
	watch := start(a.Now)
	h, err := o.history.open(ctx, a, dir, line)
	if err != nil {
		return nil, err
	}
	f := &figures{Rows: o.history.config.Rows, Keys: len(h.namespace.Spec.StockKeys), Engine: o.engine, Files: "typed", Disk: h.room}
	kind := snapshot.KindTyped
	if o.fromRaw {
		f.Files, kind = "raw", snapshot.KindRaw
	}
	if f.Bytes, err = h.bytes(h.snapshot.FilesOf(kind)); err != nil {
		return nil, err
	}
	if h.room != nil {
		all, err := h.bytes(h.snapshot.Files())
		if err != nil {
			return nil, err
		}
		made := watch.stop(f.Rows, all)
		f.Generate, f.PeakBytes = &made, made.PeakBytes
	}
	watch = start(a.Now)
	if err := f.recompute(ctx, o, h, line); err != nil {
		return nil, err
	}
	f.Recompute = watch.stop(f.Rows, f.Bytes)
	f.PeakBytes = max(f.PeakBytes, f.Recompute.PeakBytes)
	return f, nil
}

// recompute runs the engine.
func (f *figures) recompute(ctx context.Context, o *verifyOptions, h *history, line *progress.Line) error {
	if o.engine == (reference.Engine{}).Name() {
		p, err := reference.Engine{}.Compute(ctx, h.namespace, progress.History(line, h.snapshot.History(), f.Rows))
		if err == nil {
			f.Checksum, err = sumsOf(p)
		}
		return err
	}
	r, reading, err := columnar(ctx, o, h, line)
	if err != nil {
		return err
	}
	partitions, times := reading.Again()
	f.Checksum, f.ReadAgain = r.Checksum(), &readAgain{partitions, times, o.columnar.Memory, reading.Held()}
	return nil
}

// columnar runs the engine arrow.
func columnar(ctx context.Context, o *verifyOptions, h *history, line *progress.Line) (*arrow.Result, *progress.Reading, error) {
	if !o.fromRaw {
		source, reading := progress.Typed(line, h.snapshot.Typed(), o.columnar.Memory)
		r, err := arrow.Engine{}.ComputeColumns(ctx, h.namespace, source, o.columnar)
		return r, reading, err
	}
	raw, err := h.snapshot.Raw()
	if err != nil {
		return nil, nil, err
	}
	source, reading := progress.Raw(line, raw, o.columnar.Memory)
	r, err := arrow.Engine{}.ComputeRaw(ctx, h.namespace, source, o.columnar)
	return r, reading, err
}

// print prints the figures for people.
func (f *figures) print(w io.Writer) error {
	text := fmt.Sprintf("%d records, %d stock keys, %.1f MB of %s files\n", f.Rows, f.Keys, float64(f.Bytes)/1e6, f.Files)
	if f.Generate != nil {
		text += f.Generate.line("generate")
	}
	text += f.Recompute.line("recompute")
	if r := f.ReadAgain; r != nil {
		text += fmt.Sprintf("memory for records: %s, ", size(r.MemoryBytes))
		if r.Partitions == 0 {
			text += "each partition was read once"
		} else {
			text += fmt.Sprintf("%d partitions did not fit and were read up to %d times, no temporary files", r.Partitions, r.Times)
		}
		if r.HeldBytes > r.MemoryBytes {
			text += fmt.Sprintf("; one cannot be divided further and took %s or more", size(r.HeldBytes))
		}
		text += "\n"
	}
	sum, err := json.Marshal(f.Checksum)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%sresult: %s\n", text, sum)
	return err
}
