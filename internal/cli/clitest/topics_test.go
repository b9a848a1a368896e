package clitest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// unlimited are the configs of a topic as apply creates it.
var unlimited = map[string]*string{
	"retention.ms": kadm.StringPtr("-1"), "retention.bytes": kadm.StringPtr("-1"), "cleanup.policy": kadm.StringPtr("delete"),
}

// TestSC28ChangedTopics: a topic that was deleted, recreated or repartitioned after apply is refused by every verb that
// relies on it, before anything is touched; the remedy that is named, a new namespace, works.
func TestSC28ChangedTopics(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, admin *kadm.Client, topic string) error{
		"deleted": func(t *testing.T, admin *kadm.Client, topic string) error {
			_, err := admin.DeleteTopic(t.Context(), topic)
			return err
		},
		"recreated": func(t *testing.T, admin *kadm.Client, topic string) error {
			if _, err := admin.DeleteTopic(t.Context(), topic); err != nil {
				return err
			}
			_, err := admin.CreateTopic(t.Context(), 2, -1, unlimited, topic)
			return err
		},
		"repartitioned": func(t *testing.T, admin *kadm.Client, topic string) error {
			_, err := admin.UpdatePartitions(t.Context(), 3, topic)
			return err
		},
	}
	words := map[string]string{"deleted": `deleted|no longer exists|does not exist`, "recreated": `recreated`, "repartitioned": `3 partitions|partition count`}
	for name, change := range changes {
		for _, topic := range []string{"shop.transactions", "shop.outputs"} {
			t.Run(name+" "+topic, func(t *testing.T) {
				t.Parallel()
				w := appliedWorld(t)
				before := w.frontiers()
				if err := change(t, w.fake.Admin(t), topic); err != nil {
					t.Fatal(err)
				}
				w.fails(5, `^refused: namespace shop: .*; nothing was touched$`, "apply", "--yes", "shop.yaml")
				w.answers(5, words[name], "plan", "shop.yaml")
				w.fails(5, `topic changed: .*`+topic+`.*; apply a new namespace with topics of its own$`, "run")
				w.answers(0, `topic `+topic+`|topic changed|`+words[name], "status")
				w.answers(13, `^INCOMPLETE shop: .*topic `+topic+` .*(`+words[name]+`)`, "verify", "--quiesce", "--timeout", "2s")
				if topic == "shop.transactions" {
					w.fails(5, `topic `+topic+` .*; apply a new namespace`, "generate", "--count", "5")
					w.fails(5, `topic `+topic+` .*; apply a new namespace`, "export", "--out", "dump")
				}
				if after := w.frontiers(); after != before {
					t.Errorf("frontiers %s became %s", before, after)
				}
				w.declare("store")
				w.must("apply", "--yes", "store.yaml")
				w.proves("store", 3)
			})
		}
	}
}

// answers runs a verb whose answer, on stdout alone and in both formats alike, is to match.
func (w *world) answers(code int, pattern string, args ...string) {
	w.t.Helper()
	text, inJSON := w.ctl(args...), w.ctl(append(append([]string{}, args...), "-o", "json")...)
	if text.code != code || inJSON.code != code || text.stderr+inJSON.stderr != "" {
		w.t.Errorf("amendsctl %s: exit codes %d and, as JSON, %d, want %d: %s%s", strings.Join(args, " "), text.code, inJSON.code, code, text.stderr, inJSON.stderr)
	}
	if !regexp.MustCompile(pattern).MatchString(text.stdout) || !strings.HasPrefix(inJSON.stdout, "{") {
		w.t.Errorf("amendsctl %s is to say %s: %s\n%s", strings.Join(args, " "), pattern, text.stdout, inJSON.stdout)
	}
}
