package outputs

import (
	"bytes"
	"fmt"
	"io"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
)

// unlike is the exit code of a test's amendsctl whose answer is not as the schema says: no verb has it.
const unlike = exit.Code(99)

// tee keeps what was written.
type tee struct {
	to   io.Writer
	kept bytes.Buffer
}

// Write implements io.Writer.
func (t *tee) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.kept.Write(p[:n])
	return n, err
}

// Main runs amendsctl, and holds its JSON to the schema: where it is otherwise, the exit code is one that no test expects.
func Main(main func(*app.App, []string) exit.Code, a *app.App, args []string) exit.Code {
	if !AsJSON(args) {
		return main(a, args)
	}
	watched := &tee{to: a.Stdout}
	inner := *a
	inner.Stdout = watched
	code := main(&inner, args)
	if code == exit.Internal || code == exit.Interrupted || code == exit.Terminated {
		return code // what was written may be half of it
	}
	if err := Check(args, watched.kept.Bytes()); err != nil {
		_, _ = fmt.Fprintln(a.Stderr, err)
		return unlike
	}
	return code
}
