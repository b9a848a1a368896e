package clitest

import (
	"encoding/json"
	"strconv"
	"syscall"
	"testing"

	"amends.dev/amends/stages/replay"
)

// TestReplayOfARebuiltNamespace: state that an engine computed in bulk is, for replay, the state that the worker would have
// left: every record of a history of all classes is confirmed (R25, R26).
func TestReplayOfARebuiltNamespace(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	w.must("generate", "--count", "3000", "--seed", "3", "--duplicate-share", "0.05", "--conflict-share", "0.05", "--stale-share", "0.05", "--malformed-share", "0.05")
	stages := w.run()
	w.becomes(3000, `SELECT sum(next_offset) FROM amends_shop.partition_state`)
	stages.stop(syscall.SIGTERM, 0)
	w.must("rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk")
	for _, name := range []string{"shop", "fresh"} {
		for partition := range 2 {
			to := w.number(`SELECT next_offset FROM amends_` + name + `.partition_state WHERE partition = ` + strconv.Itoa(partition))
			o := w.ctl("replay", "-n", name, "--partition", strconv.Itoa(partition), "--from", "0", "--to", strconv.FormatInt(to, 10), "-o", "json")
			var report replay.Report
			if err := json.Unmarshal([]byte(o.stdout), &report); err != nil || o.code != 0 || report.Fault != nil {
				t.Fatalf("%s, partition %d: exit code %d, %v: %s%s", name, partition, o.code, err, o.stdout, o.stderr)
			}
			if k := report.Kinds; k.Authoritative == 0 || k.Superseded == 0 || k.Duplicate == 0 || k.Conflicting == 0 || k.Quarantined == 0 {
				t.Errorf("%s, partition %d: the history lacks a class: %+v", name, partition, k)
			}
		}
	}
}
