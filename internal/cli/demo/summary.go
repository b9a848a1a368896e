package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
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
	if d.options.json {
		encoder := json.NewEncoder(d.app.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(d.summary())
	}
	var text strings.Builder
	if d.report.ExitCode == exit.OK {
		if err := d.tell(&text); err != nil {
			return err
		}
	} else if err := d.tellTrouble(&text); err != nil {
		return err
	}
	_, err := io.WriteString(d.app.Stdout, text.String())
	return err
}

// listed is how many differences, conflicts or rejections of each kind the demo lists; its report.json has more.
const listed = 20

// summary is the outcome for programs.
func (d *demo) summary() summary {
	s := summary{Status: d.report.Status, ExitCode: d.report.ExitCode, Records: d.report.Counts.Records,
		H: d.report.Source.End, O: d.report.Output.End, Folder: d.options.folder, Counts: map[string]int64{}}
	if d.generated != nil {
		s.Counts = d.generated.Counts.Map()
	}
	return s
}

// tell is the outcome of a demo that passed, for people. Errors are those of w.
func (d *demo) tell(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s: %s", d.report.Status, report.Verdict(d.report))
	p.line("")
	if d.generated != nil {
		p.line("  history   %s", history(d.generated.Counts))
	}
	p.line("  H         %v of %s: the source history that was judged", d.report.Source.End, d.report.Source.Topic)
	p.line("  O         %v of %s: the outputs that the view has applied", d.report.Output.End, d.report.Output.Topic)
	p.line("  judge     engine %s, which shares no code with the %s that built the view", d.report.Engine, d.report.BuiltBy)
	p.line("")
	if d.amendment != nil {
		d.amendment.tell(p)
	}
	d.tellNext(p)
	return p.err
}

// tellTrouble is the outcome of a demo that did not pass. Errors are those of w.
func (d *demo) tellTrouble(w io.Writer) error {
	if err := report.Text(w, d.report, listed); err != nil {
		return err
	}
	p := &printer{w: w}
	if standing := d.stages.Fault(); standing != nil {
		p.line("stalled: %s", first(strings.Split(standing.Error(), "\n")))
	}
	p.line("what the stages say is in %s", filepath.Join(d.options.folder, logFile))
	if d.report.Retryable {
		p.line("nothing is lost: the next demo goes on from here, --reset starts anew")
	}
	return p.err
}

// printer writes lines until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// history is the records by class, in words. A backdated record corrects no earlier one, but days that were published.
func history(counts generate.Counts) string {
	corrections := counts[generate.Amend] + counts[generate.Move] + counts[generate.Cancel]
	return fmt.Sprintf("%d records: %d corrections (%d amended, %d moved to another day, %d cancelled), %d backdated",
		counts.Total(), corrections, counts[generate.Amend], counts[generate.Move], counts[generate.Cancel], counts[generate.Backdate])
}

// tell shows SC02 as it went through the output topic.
func (a *amendment) tell(p *printer) {
	p.line("  One amendment as it was published (%s in %s, opening %d, reorder below %d):",
		a.key.Item, a.key.Location, a.key.OpeningBalance, a.key.ReorderThreshold)
	p.line("  the first day's issue of 50 is corrected to 30, which repairs every later day.")
	p.line("")
	for _, row := range a.table() {
		p.line("%s", row)
	}
	p.line("")
}

// tellNext says what to try next.
func (d *demo) tellNext(p *printer) {
	if d.options.keepRunning {
		p.line("  Servers and stages keep running. In another terminal:")
		p.line("")
		p.line("    . %s", shellQuote(filepath.Join(d.options.folder, "env")))
		p.line("    amendsctl status -n %s", d.applied.Name)
		p.line("    amendsctl generate -n %s --seed 2 --count 5000", d.applied.Name)
		p.line("    amendsctl verify -n %s --quiesce", d.applied.Name)
		p.line(`    psql "$AMENDS_DATABASE_URL" -c 'SELECT * FROM "%s".balances_certified LIMIT 10'`, d.applied.ViewSchema)
		p.line("")
	} else {
		data := ""
		if d.options.elsewhere {
			data = " --data " + shellQuote(d.options.folder)
		}
		p.line("  What to try next")
		p.line("")
		p.line("    amendsctl demo%s --keep-running   servers and stages stay up; query, generate, verify", data)
		p.line("    amendsctl demo%s --reset          a new history from the start", data)
		p.line("")
		p.line("  The full report is in %s, and for programs in %s.", filepath.Join(d.options.folder, pageFile), reportFile)
	}
	p.line("  In a clone, amendsctl is: go run ./cmd/amendsctl")
}

// shellQuote makes one word of a path for a shell, as it is where nothing in it is special.
func shellQuote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
