package clitest

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestRunEndsInOrder: both signals end run after the units of work it is in, with exit code 0, in the middle of a
// backlog too; the next run goes on from there.
func TestRunEndsInOrder(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.must("generate", "--count", "20000", "--seed", "2")
	before := w.frontiers()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		stages := w.run("--max-batch", "100")
		stages.await("moves", func() bool { return w.frontiers() != before })
		if o := stages.stop(signal, 0); !strings.Contains(o.stderr, "msg=stopped") {
			t.Errorf("after %v: %s", signal, o.stderr)
		}
		before = w.frontiers()
	}
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestGenerateInterrupted: the first signal stops it with its own exit code, one line, and the number of records that
// were acknowledged; they stay, the lease is given up, and a further history goes on top of them.
func TestGenerateInterrupted(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ends := w.ends()
		args := []string{"generate", "--count", "100000", "--rate", "2000", "--seed", "9", "-o", "json"}
		p := w.start(args...)
		p.await("publishes", func() bool { return w.ends() > ends })
		o := p.stop(signal, code)
		var result struct{ Published int64 }
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Published < 1 || result.Published != w.ends()-ends {
			t.Errorf("published %d, in the topic %d: %v, %s", result.Published, w.ends()-ends, err, o.stdout)
		}
		if line, err := o.errorLine(args); err != nil || !strings.HasPrefix(line, "interrupted: stopped after ") || !strings.HasSuffix(line, " of 100000 records, which stay in topic shop.transactions") {
			t.Errorf("%v: %s", err, o.stderr)
		}
	}
	w.proves("shop", 3)
}

// ends is the number of records in the source topic.
func (w *world) ends() int64 {
	w.t.Helper()
	listed, err := w.fake.Admin(w.t).ListEndOffsets(w.t.Context(), "shop.transactions")
	if err != nil {
		w.t.Fatal(err)
	}
	total := int64(0)
	listed.Each(func(o kadm.ListedOffset) { total += o.Offset })
	return total
}

// TestVerifyInterrupted: no verdict, one line, and nothing that hinders the next one.
func TestVerifyInterrupted(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.must("generate", "--count", "50", "--seed", "2")
	args := []string{"verify", "--quiesce", "-v"}
	p := w.start(args...) // no stages run: it waits for the worker
	p.says("worker", 0)
	o := p.stop(syscall.SIGINT, 130)
	if !strings.Contains(o.stderr, "\namendsctl: interrupted: no verdict was reached; run it again\n") || o.stdout != "" {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	w.proves("shop", 3)
}
