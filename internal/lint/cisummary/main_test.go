package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// passing is a whole run: a package with a test and a subtest, and one without tests.
const passing = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestA"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"m/a","Test":"TestA/sub","Elapsed":0.1}
{"Action":"pass","Package":"m/a","Test":"TestA","Elapsed":0.2}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t1.5s\n"}
{"Action":"pass","Package":"m/a","Elapsed":1.5}
{"Action":"output","Package":"m/b","Output":"?   \tm/b\t[no test files]\n"}
{"Action":"skip","Package":"m/b","Elapsed":0}
`

const skipping = `{"Action":"output","Package":"m/c","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"m/c","Test":"TestC","Output":"    c_test.go:7: no Java: install it\n"}
{"Action":"output","Package":"m/c","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Package":"m/c","Test":"TestC","Elapsed":0}
{"Action":"pass","Package":"m/c","Elapsed":0.1}
`

const failing = `{"Action":"output","Package":"m/d","Test":"TestD","Output":"    d_test.go:3: got 1\n"}
{"Action":"fail","Package":"m/d","Test":"TestD","Elapsed":0}
{"Action":"fail","Package":"m/d","Elapsed":0.1}
`

// hanging is what a panic by timeout leaves: a test that never ended in a package that failed.
const hanging = `{"Action":"output","Package":"m/e","Test":"TestE","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m/e","Elapsed":300.1}
`

const unbuilt = `{"ImportPath":"m/f [m/f.test]","Action":"build-output","Output":"f_test.go:3:1: syntax error\n"}
{"ImportPath":"m/f [m/f.test]","Action":"build-fail"}
{"Action":"fail","Package":"m/f","Elapsed":0,"FailedBuild":"m/f [m/f.test]"}
`

func TestRun(t *testing.T) {
	strict := limits{packageTime: 5 * time.Minute}
	f := func(input string, limits limits, wantCode int, want ...string) {
		t.Helper()
		var out strings.Builder
		file := filepath.Join(t.TempDir(), "summary")
		if code := run(strings.NewReader(input), &out, file, limits); code != wantCode {
			t.Errorf("exit code %d, want %d; output:\n%s", code, wantCode, out.String())
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("output lacks %q:\n%s", w, out.String())
			}
		}
		summary, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(out.String(), string(summary)) {
			t.Errorf("summary file: %v, %q", err, summary)
		}
	}
	f(passing, strict, 0, "ok   m/a ", "PASS: 1 packages, 2 tests passed, 0 failed, 0 skipped\n")
	f(passing+skipping, strict, 1, "skipped: m/c TestC: c_test.go:7: no Java: install it\n", "FAIL: 2 packages")
	f(passing+skipping, limits{packageTime: time.Minute, skipsAllowed: true}, 0, "PASS: 2 packages, 2 tests passed, 0 failed, 1 skipped\n")
	f(passing+failing, strict, 1, "d_test.go:3: got 1", "failed: m/d TestD\n", "FAIL: 2 packages, 2 tests passed, 1 failed")
	f(passing+hanging, strict, 1, "panic: test timed out", "failed: m/e TestE (did not end)\n", "too slow: m/e took 5m0s")
	f(passing+unbuilt, strict, 1, "syntax error", "does not build", "failed: m/f\n")
	f(passing, limits{packageTime: time.Second}, 1, "too slow: m/a took 2s, more than 1s")
	f(strings.Replace(passing, `{"Action":"pass","Package":"m/a","Elapsed":1.5}`, "", 1), strict, 1, "did not end: m/a")
	f("go: cannot find main module\n", strict, 1, "cannot find main module", "FAIL: 0 packages")
	f("", strict, 1, "FAIL: 0 packages")
}
