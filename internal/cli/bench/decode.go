package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

// newDecode returns `bench decode`.
func newDecode(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decode --dir DIR",
		Short: "Measure the oracle against the bare decoding of the files that it reads",
		Long: "decode reads the typed files of a history that `amendsctl bench generate` or `verify` kept under DIR, in one process:\n" +
			"their SHA-256 and the decoding of the columns that the oracle needs, and nothing more; and then all that the oracle\n" +
			"does with them. Both are run in turn, on all processors, and medians are printed: what the computation costs beyond\n" +
			"what reading costs anybody. The files are read once before, so that they lie in memory.",
		Example: "  amendsctl bench generate --rows 1000000 --no-raw --dir ./history\n" +
			"  amendsctl bench decode --dir ./history -o json",
		Args: cobra.NoArgs,
	}
	dir := cmd.Flags().String("dir", "", "folder of the history")
	runs := cmd.Flags().Int("runs", 7, "number of runs of each")
	output := cmd.Flags().StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *dir == "" || *runs < 1 || *output != "text" && *output != "json" {
			return exit.With(exit.Usage, errors.New("want --dir, --runs of at least 1, and -o text or json"))
		}
		ns, err := load.Manifest(a, filepath.Join(*dir, manifestName))
		if err != nil {
			return err
		}
		s, err := snapshot.Open(filepath.Join(*dir, setName))
		if err != nil {
			return err
		}
		f, err := measureDecode(cmd.Context(), a, ns, s, *runs)
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

// decodeFigures are medians of both runs.
type decodeFigures struct {
	Rows    int64 `json:"rows"`
	Workers int   `json:"workers"`
	Runs    int   `json:"runs"`
	// Decode is SHA-256 and decoding alone, Oracle the whole computation.
	Decode turn `json:"decode"`
	Oracle turn `json:"oracle"`
	// WallRatio and CPURatio say how many times the bare decoding's the oracle's are.
	WallRatio float64 `json:"wallRatio"`
	CPURatio  float64 `json:"cpuRatio"`
}

// turn is one run of either.
type turn struct {
	WallUS int64 `json:"wallUs"`
	CPUUS  int64 `json:"cpuUs"`
}

// measureDecode runs both in turn; the first run of each is not counted.
func measureDecode(ctx context.Context, a *app.App, ns *manifests.Namespace, s *snapshot.Snapshot, runs int) (*decodeFigures, error) {
	machine.Thrifty(a.Getenv)
	budget, err := machine.Budget("")
	if err != nil {
		return nil, err
	}
	f := &decodeFigures{Rows: s.Records(), Workers: runtime.GOMAXPROCS(0), Runs: runs}
	timed := func(do func() error) (turn, error) {
		runtime.GC() // what the other run left is not this one's
		wall, used := a.Now(), cpu()
		err := do()
		return turn{a.Now().Sub(wall).Microseconds(), (cpu() - used).Microseconds()}, err
	}
	var bare, whole []turn
	for range runs + 1 {
		t, err := timed(func() error { return decodeAll(ctx, s.Typed(), f.Workers) })
		if err != nil {
			return nil, err
		}
		bare = append(bare, t)
		t, err = timed(func() error {
			_, err := arrow.Engine{}.ComputeColumns(ctx, ns, s.Typed(), arrow.Options{Workers: f.Workers, Memory: budget})
			return err
		})
		if err != nil {
			return nil, err
		}
		whole = append(whole, t)
	}
	f.Decode, f.Oracle = medianTurn(bare[1:]), medianTurn(whole[1:])
	f.WallRatio = float64(f.Oracle.WallUS) / float64(max(f.Decode.WallUS, 1))
	f.CPURatio = float64(f.Oracle.CPUUS) / float64(max(f.Decode.CPUUS, 1))
	return f, nil
}

// medianTurn is the median of each figure by itself.
func medianTurn(turns []turn) turn {
	median := func(of func(t turn) int64) int64 {
		all := make([]int64, len(turns))
		for i, t := range turns {
			all[i] = of(t)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return turn{median(func(t turn) int64 { return t.WallUS }), median(func(t turn) int64 { return t.CPUUS })}
}

// decodeAll verifies and decodes all parts, each by one of several workers, and does nothing with the columns.
func decodeAll(ctx context.Context, source vectorized.Source, workers int) error {
	parts := len(source.Parts())
	errs := make([]error, workers)
	var next atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			decoder := source.NewDecoder()
			var buffer []byte
			for errs[w] == nil {
				part := int(next.Add(1) - 1)
				if part >= parts {
					return
				}
				buffer, errs[w] = decodePart(ctx, source, decoder, part, buffer)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// decodePart verifies and decodes one part.
func decodePart(ctx context.Context, source vectorized.Source, decoder vectorized.Decoder, part int, buffer []byte) ([]byte, error) {
	loaded, buffer, err := source.Load(ctx, part, buffer)
	if err != nil {
		return buffer, err
	}
	for group := range loaded.Groups() {
		if _, err := decoder.Columns(loaded, group); err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

// print prints the figures for people.
func (f *decodeFigures) print(w io.Writer) error {
	line := func(name string, t turn) string {
		return fmt.Sprintf("%-12s %8.3f s %8.3f CPU s %6.1f CPU ns a record\n", name,
			time.Duration(t.WallUS*1000).Seconds(), time.Duration(t.CPUUS*1000).Seconds(), float64(t.CPUUS)*1000/float64(max(f.Rows, 1)))
	}
	_, err := fmt.Fprintf(w, "%d records, %d goroutines, medians of %d runs in turn in one process\n%s%soracle against bare decode: %.2f times the wall time, %.2f times the CPU\n",
		f.Rows, f.Workers, f.Runs, line("bare decode", f.Decode), line("oracle", f.Oracle), f.WallRatio, f.CPURatio)
	return err
}
