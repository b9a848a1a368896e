package root

import (
	"fmt"
	"strings"

	"amends.dev/amends/internal/exit"
)

// codeMeaning is one row of the exit-code table.
type codeMeaning struct {
	code    exit.Code
	meaning string
}

// codes is the exit-code table of design section 8, as help and docs/reference/exit-codes.md print it.
var codes = []codeMeaning{
	{exit.OK, "success; a verification that ended in PASS"},
	{exit.Error, "error: infrastructure, protocol, arithmetic or schema failure"},
	{exit.Usage, "usage: unknown command or flag, wrong arguments"},
	{exit.ChangesPending, "changes pending (plan --detailed-exitcode)"},
	{exit.ManifestInvalid, "manifest invalid"},
	{exit.Refused, "refused: needs a new namespace, a fence or folder is held, range or version unsupported"},
	{exit.Exclusions, "PASS_WITH_EXCLUSIONS (0 with the exact expected diagnostics)"},
	{exit.Blocked, "BLOCKED: a highest revision is ambiguous"},
	{exit.Drift, "DRIFT: stored results differ from the recomputation"},
	{exit.Incomplete, "INCOMPLETE: the verification boundary was not reached"},
	{exit.Internal, "internal fault: a bug in amendsctl"},
	{exit.Interrupted, "interrupted (SIGINT)"},
	{exit.Terminated, "terminated (SIGTERM)"},
}

// codeTable renders the table for help texts.
func codeTable() string {
	var b strings.Builder
	b.WriteString("Exit codes, the same under every output format:\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "  %-4d %s\n", c.code, c.meaning)
	}
	return b.String()
}
