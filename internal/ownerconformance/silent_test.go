package ownerconformance

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"amends.dev/amends/stages/owner"
)

// What the contract leaves open: corpora of other implementations differ there, and are right all the same.

// ran runs a folder of one file of the given steps on one owner, under fence 4, and returns the faults.
func ran(t *testing.T, steps ...string) []string {
	t.Helper()
	text := `{"protocol_version": 1, "kind": "DurableOwner", "model": "OrderedReplay", "description": "open", "scenarios": [
 {"id": "s", "owner_id": "o", "mode": "event_history", "fence": 4, "steps": [` + strings.Join(steps, ",") + `]}]}`
	files, err := Load(fstest.MapFS{"a.json": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return RunAll(t.Context(), files, Memory, func(Outcome) {})[0].Faults
}

// commitStep is a commit of one event with the members of an expected result, and of an image from its history on.
func commitStep(position, fence uint64, inbox, effects, receipts, result, image string) string {
	return fmt.Sprintf(`{"op": {"type": "commit", "commit": {"owner_id": "o", "expected_position": %d, "fence": %d, "inbox_id": %q,
 "ingress_fingerprint": "f", "state": {"append_events": [{"schema_version": 1, "codec_version": 1, "bytes": "x"}]},
 "effects": [%s], "receipts": [%s]}}, "expect": {"result": {%s}, "image": {%s}}}`, position, fence, inbox, effects, receipts, result, image)
}

// list writes each name into a form, in order.
func list(form string, names ...string) string {
	var elements []string
	for _, name := range names {
		elements = append(elements, strings.ReplaceAll(form, "$", name))
	}
	return strings.Join(elements, ", ")
}

const (
	openPayload = `"payload": {"schema_version": 1, "codec_version": 1, "bytes": "x"}`
	openHead    = `"position": 1, "fence": 4, "snapshot": null, "history": [{"position": 1, ` + openPayload + `}]`
	openEffect  = `{"id": "$", ` + openPayload + `}`
	openReceipt = `{"id": "$", "effect_id": "$", "outcome": "applied", ` + openPayload + `}`
)

// TestEitherOrder: the lists of images are in the order of acceptance or of identities, one of them throughout a folder;
// any other order is a fault, and so is a fault in any order.
func TestEitherOrder(t *testing.T) {
	image := func(outbox, receipts, pending []string) string {
		return openHead + `, "inbox": [{"id": "m", "ingress_fingerprint": "f", "committed_through": 1}],
 "outbox": [` + list(`{"id": "$", "accepted_at": 1, `+openPayload+`}`, outbox...) + `],
 "receipts": [` + list(`{"id": "$", "effect_id": "$", "outcome": "applied", "recorded_at": 1, "fence": 4, `+openPayload+`}`, receipts...) + `],
 "pending_effect_ids": [` + list(`"$"`, pending...) + `]`
	}
	step := func(image string) string {
		return commitStep(0, 4, "m", list(openEffect, "c", "B", "a", "é", "d"), list(openReceipt, "d", "a"), `"outcome": "committed"`, image)
	}
	names := strings.Fields
	for _, good := range [][3]string{{"c B a é d", "d a", "c B é"}, {"B a c d é", "a d", "B c é"}} {
		if faults := ran(t, step(image(names(good[0]), names(good[1]), names(good[2])))); len(faults) > 0 {
			t.Errorf("%q: %q", good, faults)
		}
	}
	for _, bad := range [][3]string{
		{"B a c d é", "d a", "B c é"}, {"c B a é d", "a d", "c B é"}, {"B a c d é", "a d", "c B é"}, {"c B a é d", "d a", "B c é"},
		{"a B c d é", "a d", "B c é"}, {"B a c d é", "a d", "B c"}, {"B a c d x", "a d", "B c x"}, {"B a c d", "a d", "B c"},
	} {
		if faults := ran(t, step(image(names(bad[0]), names(bad[1]), names(bad[2])))); len(faults) == 0 {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestPendingByAcceptance: in the order of identities pending effects may stand by their acceptance first.
func TestPendingByAcceptance(t *testing.T) {
	steps := func(pending string) []string {
		first := openHead + `, "inbox": [{"id": "m", "ingress_fingerprint": "f", "committed_through": 1}],
 "outbox": [{"id": "z", "accepted_at": 1, ` + openPayload + `}], "receipts": [], "pending_effect_ids": ["z"]`
		second := `"position": 2, "fence": 4, "snapshot": null, "history": [{"position": 1, ` + openPayload + `}, {"position": 2, ` + openPayload + `}],
 "inbox": [{"id": "m", "ingress_fingerprint": "f", "committed_through": 1}, {"id": "n", "ingress_fingerprint": "f", "committed_through": 2}],
 "outbox": [{"id": "a", "accepted_at": 2, ` + openPayload + `}, {"id": "b", "accepted_at": 2, ` + openPayload + `}, {"id": "z", "accepted_at": 1, ` + openPayload + `}],
 "receipts": [], "pending_effect_ids": [` + pending + `]`
		return []string{
			commitStep(0, 4, "m", list(openEffect, "z"), "", `"outcome": "committed"`, first),
			commitStep(1, 4, "n", list(openEffect, "b", "a"), "", `"outcome": "committed"`, second),
		}
	}
	for _, good := range []string{`"z", "a", "b"`, `"a", "b", "z"`} {
		if faults := ran(t, steps(good)...); len(faults) > 0 {
			t.Errorf("%s: %q", good, faults)
		}
	}
	for _, bad := range []string{`"z", "b", "a"`, `"b", "a", "z"`, `"a", "b"`} {
		if faults := ran(t, steps(bad)...); len(faults) == 0 {
			t.Errorf("%s passes", bad)
		}
	}
}

// TestEitherRefusal: where neither position nor fence is the owner's, both refusals are right; where one of them is, only
// the other's.
func TestEitherRefusal(t *testing.T) {
	const empty = `"position": 0, "fence": 4, "history": [], "snapshot": null, "inbox": [], "outbox": [], "receipts": [], "pending_effect_ids": []`
	for _, c := range []struct {
		position, fence uint64
		result          string
		good            bool
	}{
		{7, 3, `"outcome": "position_conflict", "ack": "withhold"`, true},
		{7, 3, `"outcome": "stale_fence", "ack": "withhold"`, true},
		{7, 5, `"outcome": "stale_fence"`, true},
		{7, 3, `"outcome": "stale_fence", "ack": "safe"`, false},
		{7, 3, `"outcome": "stale_fence", "through": 0`, false},
		{7, 3, `"outcome": "unknown_effect", "ack": "withhold"`, false},
		{7, 4, `"outcome": "position_conflict", "ack": "withhold"`, true},
		{7, 4, `"outcome": "stale_fence", "ack": "withhold"`, false},
		{0, 3, `"outcome": "stale_fence", "ack": "withhold"`, true},
		{0, 3, `"outcome": "position_conflict", "ack": "withhold"`, false},
	} {
		if faults := ran(t, commitStep(c.position, c.fence, "m", "", "", c.result, empty)); (len(faults) == 0) != c.good {
			t.Errorf("position %d, fence %d, %s: %q", c.position, c.fence, c.result, faults)
		}
	}
}

// TestRelabelled: what relabels stored bytes makes whole ones, so that only the label can be what is refused.
func TestRelabelled(t *testing.T) {
	latest := owner.NewLatest("o", owner.MarkAt(3), owner.Payload{SchemaVersion: 1, CodecVersion: 2, Bytes: []byte("x")})
	if read, err := owner.DecodeLatest(relabelled(latest.Bytes(), owner.LatestStateOnly)); err != nil || read.OwnerID() != "o" {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestObservedFromNowhere: a cache may show anything, entities at position zero too; that is what a reconciliation is to
// find, not an error of the corpus.
func TestObservedFromNowhere(t *testing.T) {
	for observed, good := range map[string]bool{`{"entity_id": "a", "value": "stale"}`: true, `{"entity_id": "a", "value": "1"}`: false} {
		text := strings.Replace(small, `"observed_projection": {"through": 1, "projection_version": 1, "entries": [{"entity_id": "a", "value": "1"}]}`,
			`"observed_projection": {"through": 0, "projection_version": 0, "entries": [`+observed+`]}`, 1)
		text = strings.Replace(text, `"health": "healthy", "drift": false, "lag": 0`, `"health": "lagging", "drift": true, "lag": 1`, 1)
		files, err := Load(fstest.MapFS{"a.json": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if out := RunAll(t.Context(), files, Memory, func(Outcome) {})[1]; (out.Result == Passed) != good {
			t.Errorf("%s: %q", observed, out.Faults)
		}
	}
}
