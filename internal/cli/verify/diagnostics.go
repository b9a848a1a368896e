package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/report"
)

// expectation is a file of expected diagnostics that was read; nil where none was given.
type expectation struct {
	path string
	file *diagnostics.File
}

// readExpected reads a file of expected diagnostics before anything is connected to. The error of a faulty one names
// every fault with its position, with the exit code of a faulty manifest.
func readExpected(path string) (*expectation, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.With(exit.ManifestInvalid, fmt.Errorf("read expected diagnostics: %w", err))
	}
	f, err := diagnostics.Parse(path, data)
	if err != nil {
		return nil, exit.With(exit.ManifestInvalid, err)
	}
	return &expectation{path, f}, nil
}

// apply compares what was found with what was expected.
func (e *expectation) apply(r *report.Report) {
	if e != nil {
		r.Expect(e.path, e.file)
	}
}

// writeDiagnostics writes what was found as a file, where that was asked for. Before a complete boundary it is not known
// what there is to be found: then nothing is written, and a line says so.
func (f *flags) writeDiagnostics(a *app.App, r *report.Report) error {
	if f.record == "" {
		return nil
	}
	if !r.Complete {
		if f.format != report.FormatJSON {
			_, _ = fmt.Fprintf(a.Stderr, "%s is not written: there was no complete boundary\n", f.record)
		}
		return nil
	}
	file := &diagnostics.File{Name: r.Namespace, TopicID: r.Source.TopicID, Entries: r.Diagnostics()}
	if err := replace(f.record, diagnostics.Render(file)); err != nil {
		return exit.With(exit.Error, fmt.Errorf("the verdict is %s, and the diagnostics cannot be written: %w", r.Status, err))
	}
	return nil
}

// replace puts data in the place of a file at once: a reader, or a crash, sees the old file or the new one.
func replace(path string, data []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	const readable = 0o644 // as a file that the shell redirects to
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Chmod(readable), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
