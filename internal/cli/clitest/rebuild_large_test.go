package clitest

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// largeRecords is the size of the history of TestRebuildLarge.
var largeRecords = flag.Int("rebuild.records", 0, "records of TestRebuildLarge (default 5,000, with AMENDS_LONG 1,000,000)")

// TestRebuildLarge: a generated history of many records over 4,000 keys, streamed, and rebuilt in bulk: the comparison says
// EQUAL and the naive judge PASS. With AMENDS_LONG there are a million, which takes many minutes.
func TestRebuildLarge(t *testing.T) {
	if *largeRecords == 0 {
		*largeRecords = 5_000
		if longRun() {
			*largeRecords = 1_000_000
		}
	}
	w := worldOn(t, pg.New(t), strings.Join(kafkatest.StartServer(t).Seeds, ","))
	keys := "item,location,openingBalance,reorderThreshold\n"
	for i := range 4000 {
		keys += fmt.Sprintf("item-%04d,warehouse-%d,1000,400\n", i/10, i%10)
	}
	text := strings.Split(fmt.Sprintf(manifest, "shop"), "  stockKeys:")[0] + fmt.Sprintf("  stockKeysFrom: {file: keys.csv, sha256: \"%x\"}\n", sha256.Sum256([]byte(keys)))
	for name, content := range map[string]string{"keys.csv": keys, "shop.yaml": strings.ReplaceAll(text, "partitions: 2", "partitions: 4")} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	timed := func(what string, do func()) {
		began := time.Now()
		do()
		t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
	}
	w.must("apply", "--yes", "shop.yaml")
	timed("generate", func() { w.must("generate", "-n", "shop", "--count", fmt.Sprint(*largeRecords)) })
	t.Log(w.must("rebuild", "-n", "shop", "--into", "streamed", "--timeout", "10m").stdout)
	t.Log(w.must("rebuild", "-n", "shop", "--into", "bulk", "--mode", "bulk").stdout)
	streamed, bulk := w.run("-n", "streamed"), w.run("-n", "bulk")
	timed("relay, view and compare", func() {
		o := w.must("compare", "streamed", "bulk", "--timeout", "30m")
		t.Log(o.stdout)
		if !strings.HasPrefix(o.stdout, "EQUAL streamed and bulk: ") {
			t.Error("not equal")
		}
	})
	timed("verify", func() {
		o := w.must("verify", "--quiesce", "-n", "bulk", "--engine", "reference", "--timeout", "30m")
		if !strings.HasPrefix(o.stdout, "PASS bulk: ") {
			t.Error(o.stdout)
		}
	})
	streamed.stop(syscall.SIGTERM, 0)
	bulk.stop(syscall.SIGTERM, 0)
}
