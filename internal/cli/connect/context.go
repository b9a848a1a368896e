package connect

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A context file holds connection settings under the names of their flags, so that they need not be repeated:
//
//	database-url: postgres://anna@db.example:5432/stock
//	brokers: b1.example:9092,b2.example:9092
//	sasl-user: anna
//	sasl-password-file: /run/secrets/kafka
//
// Flags and environment win over it. It holds no password: those are named by file, or given in the environment.

// readContext reads a context file. known are the names it may use.
func readContext(path string, known map[string]bool) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the context file: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("context file %s: %w", path, err)
	}
	values := map[string]string{}
	if len(document.Content) == 0 {
		return values, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want names of connection flags with their values", path, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		if err := checkSetting(name.Value, value, known, values); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, name.Line, err)
		}
		values[name.Value] = value.Value
	}
	return values, nil
}

// checkSetting finds what is wrong with one setting.
func checkSetting(name string, value *yaml.Node, known map[string]bool, values map[string]string) error {
	_, repeated := values[name]
	switch {
	case !known[name]:
		return fmt.Errorf("no connection flag is called %q", name)
	case repeated:
		return fmt.Errorf("%s is set twice", name)
	case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
		return fmt.Errorf("%s: want a text", name)
	case strings.HasSuffix(name, "database-url") && holdsPassword(value.Value):
		return errors.New(name + " holds a password; leave it out and use PGPASSWORD, a ~/.pgpass file or the environment variable of the flag")
	}
	return nil
}

// holdsPassword looks for a password in a connection URL or keyword string.
func holdsPassword(text string) bool {
	if !strings.Contains(text, "://") {
		return strings.Contains(text, "password=")
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, set := parsed.User.Password()
	return set || parsed.Query().Has("password")
}
