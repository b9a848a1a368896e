package rebuilding_test

import (
	"errors"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/rebuilding"
	"amends.dev/amends/oracle/boundary"
)

// TestB006CheckHistory: only the very topic, with its beginning and nothing that removes records, is a history to rebuild from.
func TestB006CheckHistory(t *testing.T) {
	mark.Expect(t, "SC24 lost history refused")
	mark.Expect(t, "S11 recreated source refused")
	whole := func() *boundary.Topic {
		return &boundary.Topic{ID: "id", Starts: []int64{0, 0}, Stables: []int64{3, 0}, Ends: []int64{3, 0},
			Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}}
	}
	if err := rebuilding.CheckHistory(whole(), "in", "id", 2); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(topic *boundary.Topic){
		"recreated":     func(topic *boundary.Topic) { topic.ID = "other" },
		"repartitioned": func(topic *boundary.Topic) { topic.Stables = append(topic.Stables, 0) },
		"deleted head":  func(topic *boundary.Topic) { topic.Starts[1] = 1 },
		"compacted":     func(topic *boundary.Topic) { topic.Configs["cleanup.policy"] = "compact" },
		"retention":     func(topic *boundary.Topic) { topic.Configs["retention.bytes"] = "1000" },
	} {
		topic := whole()
		damage(topic)
		if err := rebuilding.CheckHistory(topic, "in", "id", 2); !errors.Is(err, rebuilding.ErrHistory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rebuilding.CheckHistory(nil, "in", "id", 2); !errors.Is(err, rebuilding.ErrHistory) {
		t.Errorf("gone: %v", err)
	}
	if got, want := rebuilding.BuiltBy("arrow", "columnar", "v1 abc modified", []int64{3, 0}), "arrow decoder=columnar version=v1+abc+modified through=[3,0]"; got != want {
		t.Errorf("built by %s, want %s", got, want)
	}
}
