package projection_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// exports are the compiled forms of this package and everything it imports, by import path.
func exports(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list what is compiled: %v", err)
	}
	files := map[string]string{}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		if path, file, ok := strings.Cut(scanner.Text(), " "); ok {
			files[path] = file
		}
	}
	return files
}

// compiler type-checks the body of a function with some parameters.
func compiler(t *testing.T) func(body string) error {
	files := exports(t)
	fset := token.NewFileSet()
	imported := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	return func(body string) error {
		t.Helper()
		text := fmt.Sprintf("package p\n\nimport (\n\"context\"\n\"amends.dev/amends/stages/owner\"\n\"amends.dev/amends/stages/owner/projection\"\n)\n\n"+
			"func f(ctx context.Context, store owner.Store, image *owner.Image, pending owner.Pending, history owner.CompleteHistory,\n"+
			"latest owner.LatestDurableProjection, checkpoint projection.Checkpoint, finding projection.Finding, decode projection.Decoder, value owner.Payload) {\n%s\n}\n", body)
		file, err := parser.ParseFile(fset, "snippet.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		_, err = (&types.Config{Importer: imported}).Check("p", fset, []*ast.File{file}, nil)
		return err
	}
}

// TestCannotBeWritten: what the contract forbids does not compile, and its permitted twin does.
func TestCannotBeWritten(t *testing.T) {
	compile := compiler(t)
	for _, c := range []struct{ name, good, bad, want string }{
		{"R28 latest where complete history is asked for",
			"_, _ = projection.Resume(checkpoint, history, decode)",
			"_, _ = projection.Resume(checkpoint, latest, decode)", "cannot use latest"},
		{"R28 latest converted into a history",
			"_ = owner.CompleteHistory(history)",
			"_ = owner.CompleteHistory(latest)", "cannot convert latest"},
		{"R28 a history put together by hand",
			"_, _ = owner.NewCompleteHistory(`a`, nil)",
			"_ = owner.CompleteHistory{ownerID: `a`}", "ownerID"},
		{"R28 a latest value with another capability",
			"var c owner.Capability = latest.Capability(); _ = c",
			"var c owner.HistoryFingerprint = latest.Fingerprint(); _ = c", "cannot use latest.Fingerprint()"},
		{"fingerprints of different kinds compared",
			"_ = history.Fingerprint(value) == history.Fingerprint(value)",
			"_ = history.Fingerprint(value) == owner.FingerprintProjection(value)", "mismatched types"},
		{"a checkpoint's position authorizes a commit",
			"_ = owner.Commit{ExpectedPosition: image.Position, Fence: image.Fence}",
			"_ = owner.Commit{ExpectedPosition: checkpoint.Through()}", "cannot use checkpoint.Through()"},
		{"a checkpoint's position converted",
			"_ = owner.Commit{ExpectedPosition: uint64(pending.Position)}",
			"_ = owner.Commit{ExpectedPosition: uint64(checkpoint.Through())}", "cannot convert checkpoint.Through()"},
		{"a checkpoint's version authorizes a commit",
			"_ = owner.Commit{ExpectedPosition: image.Position}",
			"_ = owner.Commit{ExpectedPosition: checkpoint.Version()}", "cannot use checkpoint.Version()"},
		{"a finding authorizes a commit",
			"_ = owner.Commit{ExpectedPosition: pending.Position, Fence: pending.Fence}",
			"_ = owner.Commit{ExpectedPosition: finding.Source}", "cannot use finding.Source"},
		{"a finding advances a fence",
			"_, _ = store.AdvanceFence(ctx, image.OwnerID, image.Fence+1)",
			"_, _ = store.AdvanceFence(ctx, finding.OwnerID, finding.Lag)", "cannot use finding.Lag"},
		{"a history's frontier authorizes a commit",
			"_ = owner.Commit{ExpectedPosition: image.Position}",
			"_ = owner.Commit{ExpectedPosition: history.Frontier()}", "cannot use history.Frontier()"},
		{"the number inside a mark",
			"_ = history.Frontier().String()",
			"_ = history.Frontier().n", "n"},
		{"a latest value's position",
			"_ = latest.Value()",
			"_ = owner.Commit{ExpectedPosition: latest.position}", "position"},
		{"a checkpoint in place of an image",
			"_, _ = projection.DryRun(ctx, store, `a`, nil, decode)",
			"_, _ = projection.DryRun(ctx, checkpoint, `a`, nil, decode)", "does not implement"},
	} {
		if err := compile(c.good); err != nil {
			t.Errorf("%s: the permitted twin does not compile: %v", c.name, err)
		}
		if err := compile(c.bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: compiles, or fails for another reason: %v", c.name, err)
		}
	}
}
