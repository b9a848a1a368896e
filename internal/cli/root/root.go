// Package root assembles amendsctl from its verbs and maps how they end to one error line and an exit code.
package root

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
)

// traceVariable is the environment variable that adds the stack of an internal fault to its one line.
const traceVariable = "AMENDS_TRACE"

// Main runs amendsctl with the arguments after the program name and returns the exit code for the process. Output
// goes to the streams of a; at most one error is written, to its Stderr.
func Main(a *app.App, args []string) exit.Code {
	return execute(a, args, verbs(a))
}

// execute is Main with the verbs given, so that tests can add their own.
func execute(a *app.App, args []string, verbs []group) (code exit.Code) {
	out := reporter{app: a, json: wantsJSON(args)}
	defer func() {
		if cause := recover(); cause != nil {
			code = out.fault(cause)
		}
	}()
	ctx, in := watchInterrupts(context.Background())
	defer in.stop()

	root, started := assemble(a, verbs)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exit.OK
	}
	var coded *exit.Coded
	if errors.As(err, &coded) && coded.Silent {
		return coded.Code
	}
	if code := in.code(); code != exit.OK {
		out.line(code, "interrupted: "+joined(err))
		return code
	}
	code = exit.Of(err)
	if !*started && coded == nil {
		code = exit.Usage
	}
	message := err.Error()
	if code != exit.ManifestInvalid { // which has a line for each fault
		message = joined(err)
	}
	if code == exit.Usage {
		message = fmt.Sprintf("%s (see '%s --help')", message, cmd.CommandPath())
	}
	out.line(code, message)
	return code
}

// joined is an error's text on one line: joined errors and what servers say have several, and cobra puts suggestions
// below an unknown command.
func joined(err error) string {
	text := strings.Replace(strings.TrimSpace(err.Error()), "\n\nDid you mean this?\n\t", ", did you mean: ", 1)
	text = strings.ReplaceAll(text, "\n\t", ", ")
	return strings.ReplaceAll(text, "\n", "; ")
}

// assemble builds the command tree. The returned flag is set once a verb's own code has begun: an error before that
// is one of usage, because cobra does not type its errors.
func assemble(a *app.App, verbs []group) (root *cobra.Command, started *bool) {
	root = &cobra.Command{
		Use:   "amendsctl",
		Short: "Turn a stream of corrected stock transactions into verified daily balances",
		Long: "amendsctl applies a namespace manifest, runs the stages that turn a stream of stock transactions and\n" +
			"their corrections into daily balances and alerts, and verifies what was stored against an independent\n" +
			"recomputation of the whole history.\n\n" + codeTable(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	output := formatText
	root.PersistentFlags().VarP(&output, "output", "o", "output format: text or json")
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	started = new(bool)
	for _, part := range verbs {
		root.AddGroup(&cobra.Group{ID: part.title, Title: part.title})
		for _, verb := range part.verbs {
			verb.GroupID = part.title
			noteStart(verb, started)
			nameArguments(verb)
			root.AddCommand(verb)
		}
	}
	return root, started
}

// noteStart makes the command and its subcommands set started when their own code begins.
func noteStart(cmd *cobra.Command, started *bool) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return inner(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		noteStart(child, started)
	}
}

// reporter writes the one error of an invocation.
type reporter struct {
	app  *app.App
	json bool
}

// errorObject is an error under --output json.
type errorObject struct {
	Error    string    `json:"error"`
	ExitCode exit.Code `json:"exitCode"`
}

// line writes the error as a line of text or a JSON object. A stderr that cannot be written to leaves the exit code
// as the only answer, so that failure is ignored.
func (r reporter) line(code exit.Code, message string) {
	if !r.json {
		_, _ = fmt.Fprintf(r.app.Stderr, "amendsctl: %s\n", strings.TrimRight(message, "\n"))
		return
	}
	encoder := json.NewEncoder(r.app.Stderr)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(errorObject{Error: message, ExitCode: code})
}

// fault reports a recovered panic: what happened and where, in one line.
func (r reporter) fault(cause any) exit.Code {
	message := fmt.Sprintf("internal fault: %v at %s (set %s=1 for the stack)", cause, panicSite(), traceVariable)
	r.line(exit.Internal, strings.ReplaceAll(message, "\n", " "))
	if r.app.Getenv(traceVariable) != "" {
		_, _ = r.app.Stderr.Write(debug.Stack())
	}
	return exit.Internal
}

// panicSite is the file:line of the innermost frame that panicked. It is called from a deferred function.
func panicSite() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
