package root

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/testkit/outputs"
)

// silent are the verbs that print no JSON, with the reason.
var silent = map[string]string{
	"run":            "it logs until it is stopped; --log-format json is slog's",
	"run intake":     "as run; its answers are those of schemas/openapi.json",
	"bench generate": "it writes a snapshot, schemas/snapshot.json",
	"help":           "cobra's",
	"completion":     "cobra's",
}

// TestEveryAnswerHasASchema: each verb is in schemas/outputs.json, or in silent, and the schema names no other.
func TestEveryAnswerHasASchema(t *testing.T) {
	known, err := outputs.Verbs()
	if err != nil {
		t.Fatal(err)
	}
	root, _ := assemble(&app.App{}, verbs(&app.App{}))
	seen := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		verb := strings.TrimPrefix(cmd.CommandPath(), "amendsctl ")
		if cmd == root || cmd.HasSubCommands() && !slices.Contains([]string{"run"}, verb) {
			return
		}
		seen[verb] = true
		if _, quiet := silent[verb]; quiet == slices.Contains(known, verb) {
			t.Errorf("amendsctl %s is to be in schemas/outputs.json, or among the silent verbs, and not in both", verb)
		}
		if silent[verb] == "" {
			if _, err := outputs.Compile(verb); err != nil {
				t.Errorf("amendsctl %s: %v", verb, err)
			}
		}
	}
	walk(root)
	for _, verb := range known {
		if !seen[verb] {
			t.Errorf("schemas/outputs.json has %q, which is no verb", verb)
		}
	}
}

// TestSchemaCatchesAnswers damages an answer that passes: a member less, a member more, another type, text.
func TestSchemaCatchesAnswers(t *testing.T) {
	args := []string{"resume", "-n", "shop", "--stage", "view", "-o", "json"}
	good := `{"namespace":"shop","stage":"view","partition":0,"cleared":"","released":false}`
	if err := outputs.Check(args, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{
		strings.Replace(good, `,"released":false`, "", 1), strings.Replace(good, `"cleared"`, `"more":1,"cleared"`, 1),
		strings.Replace(good, `"partition":0`, `"partition":"0"`, 1), "view partition 0", "null", good + good,
	} {
		if outputs.Check(args, []byte(damage)) == nil {
			t.Errorf("not caught: %s", damage)
		}
	}
	if outputs.Check([]string{"nosuch", "-o", "json"}, []byte(good)) == nil {
		t.Error("an unknown verb's answer passes")
	}
}
