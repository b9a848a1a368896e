package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// flags are the flags of the verb beside those of connections and manifest.
type flags struct {
	quiesce, verbose, writersStopped bool
	namespace, engine, from          string
	// fromRaw says to decode raw records of a snapshot anew; memory bounds what the recomputation holds, bytes is its value.
	fromRaw bool
	memory  string
	bytes   int64
	timeout time.Duration
	limit   int
	scope   []string
	// reports are files for the report; unkept says not to keep it in the database.
	reports []string
	unkept  bool
	// expect and record are files of expected diagnostics, to compare with and to write.
	expect, record string
	progress       string
	formatName     string
	format         report.Format
}

// add declares the flags.
func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&f.quiesce, "quiesce", false, "stop the writers and wait until all stages are drained (required: the only boundary there is)")
	set.StringVarP(&f.namespace, "namespace", "n", "", "applied namespace; needed where there is more than one")
	set.StringVar(&f.engine, "engine", verify.EngineAuto, "engine that recomputes the source: auto, arrow or reference")
	set.StringVar(&f.from, "from", "", "folder of an exported snapshot to judge in place of the topic; it must hold exactly the boundary's history")
	set.BoolVar(&f.fromRaw, "from-raw", false, "decode the raw records of a snapshot anew instead of judging by its typed columns")
	set.StringVar(&f.memory, "memory", "", "memory for records at a time, as 512MiB (default a quarter of the machine's); a larger history of the topic is kept in a temporary folder")
	set.DurationVar(&f.timeout, "timeout", verify.DefaultTimeout, "how long each phase may wait; then the verdict is INCOMPLETE")
	set.BoolVar(&f.writersStopped, "writers-stopped", false, "your statement that no writer runs; needed where this role may not read the writer lease")
	set.StringArrayVar(&f.scope, "scope", nil, "key=ITEM,LOCATION: say in the verdict's line what was found of this key (repeatable); changes no verdict")
	set.StringVar(&f.expect, "expect-diagnostics", "", "file of the rejections and conflicts to be found, no more and no fewer")
	set.StringVar(&f.record, "write-diagnostics", "", "write the rejections and conflicts that were found as such a file")
	set.IntVar(&f.limit, "limit", verify.DefaultLimit, "differences listed of each family, 0 for all; counts are always full")
	set.StringArrayVar(&f.reports, "report", nil, "also write the report to this file: .html, .md, .xml (JUnit), .json or .txt (repeatable)")
	set.BoolVar(&f.unkept, "no-keep", false, "do not keep the report in the database (see amendsctl get verifications)")
	set.StringVar(&f.progress, "progress", progressAuto, "progress on stderr: auto (on a terminal), plain (lines) or off; never with -o json")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "the same as --progress=plain")
	set.StringVarP(&f.formatName, "output", "o", string(report.FormatText), "output format: "+strings.Join(report.Formats(), ", "))
}

// check finds wrong combinations; its error has exit code 2.
func (f *flags) check() error {
	var err error
	switch {
	case !f.quiesce:
		err = errors.New("verify needs --quiesce: it stops the namespace's writers and waits until the stages are drained")
	case f.timeout <= 0:
		err = fmt.Errorf("--timeout %s is not positive", f.timeout)
	case f.limit < 0:
		err = fmt.Errorf("--limit %d is negative; 0 lists all", f.limit)
	case f.engine != verify.EngineAuto && !isEngine(f.engine):
		err = fmt.Errorf("--engine %s; want auto, arrow or reference", f.engine)
	case f.fromRaw && f.from == "":
		err = errors.New("--from-raw is for a snapshot; name it with --from")
	case f.expect != "" && f.record != "":
		err = errors.New("--expect-diagnostics and --write-diagnostics exclude each other")
	case !slices.Contains([]string{progressAuto, progressPlain, progressOff}, f.progress):
		err = fmt.Errorf("--progress %s; want auto, plain or off", f.progress)
	default:
		if f.bytes, err = machine.Budget(f.memory); err == nil {
			err = checkReports(f.reports)
		}
	}
	format, unknown := report.ParseFormat(f.formatName)
	if f.format = format; unknown != nil {
		err = errors.Join(err, fmt.Errorf("--output: %w", unknown))
	}
	for i, scope := range f.scope {
		key, ok := strings.CutPrefix(scope, "key=")
		if !ok || !strings.Contains(key, ",") {
			err = errors.Join(err, fmt.Errorf("--scope %s; want key=ITEM,LOCATION", scope))
			break
		}
		f.scope[i] = key
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// isEngine says whether this build has the engine.
func isEngine(name string) bool {
	for _, e := range Engines() {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// options turns the flags into those of a run. A manifest names its namespace, and must be what was applied.
func (f *flags) options(a *app.App, manifest *load.Flags, args []string) (verify.Options, error) {
	o := verify.Options{
		Namespace: f.namespace, Engine: f.engine, Timeout: f.timeout, Limit: f.limit, Code: version.Current().String(),
		WritersStopped: f.writersStopped, Scope: f.scope,
	}
	if f.limit == 0 {
		o.Limit = -1
	}
	if f.expect != "" || f.record != "" { // all that is found belongs into the file
		o.Rejections = -1
	}
	if !manifest.Given(args) {
		return o, nil
	}
	path, err := manifest.Path(args)
	if err != nil {
		return o, err
	}
	if o.Manifest, err = load.Manifest(a, path); err != nil {
		return o, err
	}
	if o.Namespace != "" && o.Namespace != o.Manifest.Name {
		return o, exit.With(exit.Usage, fmt.Errorf("-n %s, and the manifest is of %s", o.Namespace, o.Manifest.Name))
	}
	o.Namespace = o.Manifest.Name
	return o, nil
}
