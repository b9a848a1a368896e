package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/generate"
)

// summary is what the demo prints with -o json.
type summary struct {
	Status   report.Status    `json:"status"`
	ExitCode exit.Code        `json:"exitCode"`
	Records  int64            `json:"records"`
	Counts   map[string]int64 `json:"counts"`
	H        []int64          `json:"h"`
	O        []int64          `json:"o"`
	Folder   string           `json:"folder"`
}

// print writes the outcome to stdout.
func (d *demo) print() error {
	w := d.app.Stdout
	if d.options.json {
		s := summary{Status: d.report.Status, ExitCode: d.report.ExitCode, Records: d.report.Counts.Records,
			H: d.report.Source.End, O: d.report.Output.End, Folder: d.options.folder, Counts: map[string]int64{}}
		if d.generated != nil {
			s.Counts = d.generated.Counts.Map()
		}
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s)
	}
	if d.report.ExitCode != exit.OK {
		return report.Text(w, d.report, 20)
	}
	_, _ = fmt.Fprintf(w, "%s: %s\n\n", d.report.Status, report.Verdict(d.report))
	if d.generated != nil {
		_, _ = fmt.Fprintf(w, "  history   %s\n", history(d.generated.Counts))
	}
	_, _ = fmt.Fprintf(w, "  H         %v of %s: the source history that was judged\n", d.report.Source.End, d.report.Source.Topic)
	_, _ = fmt.Fprintf(w, "  O         %v of %s: the outputs that the view has applied\n", d.report.Output.End, d.report.Output.Topic)
	_, _ = fmt.Fprintf(w, "  judge     engine %s, which shares no code with the %s that built the view\n\n", d.report.Engine, d.report.BuiltBy)
	if d.amendment != nil {
		if err := d.printAmendment(w); err != nil {
			return err
		}
	}
	return d.printNext(w)
}

// history is the records by class, in words.
func history(counts generate.Counts) string {
	words := map[generate.Class]string{
		generate.Backdate: "backdated", generate.Amend: "amended", generate.Move: "moved to another day", generate.Cancel: "cancelled",
	}
	var parts []string
	corrections := int64(0)
	for class, n := range counts {
		if word := words[generate.Class(class)]; word != "" && n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
			corrections += n
		}
	}
	return fmt.Sprintf("%d records, of them %d corrections: %s", counts.Total(), corrections, strings.Join(parts, ", "))
}

// printAmendment shows SC02 as it went through the output topic.
func (d *demo) printAmendment(w io.Writer) error {
	key := d.amendment.key
	_, _ = fmt.Fprintf(w, "  One amendment as it was published (%s in %s, opening %d, reorder below %d):\n"+
		"  the first day's issue of 50 is corrected to 30.\n\n", key.Item, key.Location, key.OpeningBalance, key.ReorderThreshold)
	if err := d.amendment.print(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printNext says what to try next.
func (d *demo) printNext(w io.Writer) error {
	if d.options.keepRunning {
		_, err := fmt.Fprintf(w, "  Servers and stages keep running. In another terminal:\n\n"+
			"    . %s/env\n"+
			"    amendsctl status -n %[2]s\n"+
			"    amendsctl generate -n %[2]s --seed 2 --count 5000\n"+
			"    amendsctl verify -n %[2]s --quiesce\n"+
			"    psql \"$AMENDS_DATABASE_URL\" -c 'SELECT * FROM \"%[3]s\".balances_certified LIMIT 10'\n\n",
			d.options.folder, d.applied.Name, d.applied.ViewSchema)
		return err
	}
	_, err := fmt.Fprintf(w, "  What to try next\n\n"+
		"    amendsctl demo --keep-running   servers and stages stay up; query, generate, verify\n"+
		"    amendsctl demo --reset          a new history from the start\n"+
		"    the full report                 %s/report.json\n", d.options.folder)
	return err
}
