package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
)

// resolve reads a command line under an environment.
func resolve(t *testing.T, env map[string]string, args ...string) (Connections, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "x"}
	flags := Register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return flags.Resolve(&app.App{Getenv: func(key string) string { return env[key] }})
}

func TestFlagsWinOverEnvironment(t *testing.T) {
	env := map[string]string{"AMENDS_DATABASE_URL": "postgres://env/db", "AMENDS_BROKERS": " a:1 , b:2,", "AMENDS_TLS_CA": "ca.pem"}
	c, err := resolve(t, env)
	if err != nil {
		t.Fatal(err)
	}
	if c.StateURL() != "postgres://env/db" || c.ViewURL() != c.StateURL() {
		t.Errorf("from the environment: %s, view %s", c.StateURL(), c.ViewURL())
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, c.Kafka.Brokers); diff != "" {
		t.Errorf("brokers (-want +got):\n%s", diff)
	}
	if c.Kafka.TLS == nil || c.Kafka.TLS.CAFile != "ca.pem" {
		t.Errorf("TLS is not implied: %+v", c.Kafka.TLS)
	}
	c, err = resolve(t, env, "--database-url", "postgres://flag/db", "--view-database-url=postgres://view/db", "--brokers", "c:3")
	if err != nil || c.StateURL() != "postgres://flag/db" || c.ViewURL() != "postgres://view/db" || c.Kafka.Brokers[0] != "c:3" {
		t.Errorf("from flags: %s, %s, %v, %v", c.StateURL(), c.ViewURL(), c.Kafka.Brokers, err)
	}
	if _, err := resolve(t, env, "--database-url", "", "--brokers", ""); err != nil {
		t.Errorf("emptied: %v", err)
	}
}

func TestTLS(t *testing.T) {
	for _, tc := range []struct {
		args []string
		on   bool
	}{{nil, false}, {[]string{"--tls"}, true}, {[]string{"--tls=false"}, false}, {[]string{"--tls-server-name", "b"}, true}} {
		if c, err := resolve(t, nil, tc.args...); err != nil || (c.Kafka.TLS != nil) != tc.on {
			t.Errorf("%v: TLS %v, %v", tc.args, c.Kafka.TLS, err)
		}
	}
	for _, args := range [][]string{{"--tls=maybe"}, {"--tls=false", "--tls-ca", "x"}} {
		if _, err := resolve(t, nil, args...); exit.Of(err) != exit.Usage {
			t.Errorf("%v: %v, want exit code 2", args, err)
		}
	}
}

func TestSASL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"file":        {nil, []string{"--sasl-user", "anna", "--sasl-password-file", file}},
		"environment": {map[string]string{"AMENDS_SASL_USER": "anna", "AMENDS_SASL_PASSWORD": "hunter2", "AMENDS_SASL_MECHANISM": "plain"}, nil},
	} {
		c, err := resolve(t, tc.env, tc.args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := c.Kafka.SASL; s.Mechanism != "PLAIN" || s.User != "anna" || s.Password.Reveal() != "hunter2" {
			t.Errorf("%s: %+v with %s", name, s, s.Password.Reveal())
		}
		if judge := c.JudgeBrokers(); judge.SASL.Password() != "hunter2" || judge.SASL.User != "anna" {
			t.Errorf("%s: the judge has %+v", name, judge)
		}
	}
	for _, args := range [][]string{
		{"--sasl-user", "anna"}, {"--sasl-mechanism", "PLAIN"}, {"--sasl-user", "anna", "--sasl-password-file", file + ".absent"},
	} {
		if _, err := resolve(t, nil, args...); exit.Of(err) != exit.Usage {
			t.Errorf("%v: %v, want exit code 2", args, err)
		}
	}
}

func TestPasswordsDoNotShow(t *testing.T) {
	c, err := resolve(t, map[string]string{"AMENDS_DATABASE_URL": "postgres://anna:hunter2@h/db",
		"AMENDS_VIEW_DATABASE_URL": "postgres://anna:hunter2@v/db", "AMENDS_SASL_USER": "anna", "AMENDS_SASL_PASSWORD": "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(verb, c) + fmt.Sprintf(verb, c.JudgeBrokers()); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the password: %s", verb, text)
		}
	}
}

func TestContextFile(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "context.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("# ours\ndatabase-url: postgres://anna@file/db\nbrokers: 127.0.0.1:9092\ntls: true\n")
	env := map[string]string{"AMENDS_CONTEXT": good, "AMENDS_BROKERS": "env:1"}
	c, err := resolve(t, env)
	if err != nil || c.StateURL() != "postgres://anna@file/db" || c.Kafka.Brokers[0] != "env:1" || c.Kafka.TLS == nil {
		t.Errorf("file under environment: %s, %v, %v, %v", c.StateURL(), c.Kafka.Brokers, c.Kafka.TLS, err)
	}
	if c, err = resolve(t, nil, "--context", good, "--database-url", ""); err != nil || c.StateURL() != "" || c.Kafka.Brokers[0] != "127.0.0.1:9092" {
		t.Errorf("file under flags: %q, %v, %v", c.StateURL(), c.Kafka.Brokers, err)
	}
	if _, err = resolve(t, nil, "--context", file("")); err != nil {
		t.Errorf("empty file: %v", err)
	}
	for text, says := range map[string]string{
		"broker: x":              ":1: no connection flag",
		"brokers: x\nbrokers: y": ":2: brokers is set twice",
		"brokers: [x, y]":        "want a text",
		"brokers:":               "want a text",
		"- brokers":              "want names",
		"\t":                     "context file",
		"context: x":             "no connection flag",
		"database-url: postgres://anna:hunter2@h/db":           "holds a password",
		"view-database-url: host=h user=anna password=hunter2": "holds a password",
		"database-url: postgres://h/db?password=hunter2":       "holds a password",
	} {
		_, err := resolve(t, nil, "--context", file(text))
		if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want exit code 2 and %q", text, err, says)
		}
	}
	if _, err := resolve(t, nil, "--context", good+".absent"); exit.Of(err) != exit.Usage {
		t.Errorf("absent file: %v", err)
	}
}
