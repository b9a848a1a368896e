package outputs

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// Unlike is the exit code of a test's amendsctl whose answer is not as the schema says: no verb has it.
const Unlike = 99

// Watch is the stdout of an amendsctl that a test runs as a process.
type Watch struct {
	args []string
	to   io.Writer
	kept bytes.Buffer
}

// Over returns a stdout that passes everything on to another one. args are those after the program's name.
func Over(to io.Writer, args []string) *Watch { return &Watch{args: args, to: to} }

// Write implements io.Writer.
func (w *Watch) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if AsJSON(w.args) {
		w.kept.Write(p[:n])
	}
	return n, err
}

// Code returns the exit code of the process: the one it was to have, or Unlike, with a line on stderr. The answer of an
// amendsctl that broke off, with code 70, 130 or 143, may be half of one.
func (w *Watch) Code(code int, stderr io.Writer) int {
	if slices.Contains([]int{70, 130, 143}, code) {
		return code
	}
	if err := Check(w.args, w.kept.Bytes()); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return Unlike
	}
	return code
}
