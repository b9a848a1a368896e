package conformance

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// plainInteger is the only spelling of a number in a scenario.
var plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// JSON turns one YAML document into JSON without changing a value: YAML libraries read 010 as 8 and 1.5 into an
// integer as 1.
func JSON(text []byte) (jsontext.Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, errors.New("want one YAML document")
	}
	return appendNode(nil, document.Content[0])
}

func appendNode(out jsontext.Value, n *yaml.Node) (jsontext.Value, error) {
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		seen := map[string]bool{}
		out = append(out, '{')
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i]
			if seen[name.Value] {
				return nil, fmt.Errorf("line %d: %q is there twice", name.Line, name.Value)
			}
			seen[name.Value] = true
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = jsontext.AppendQuote(out, name.Value); err != nil {
				return nil, err
			}
			out = append(out, ':')
			if out, err = appendNode(out, n.Content[i+1]); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendNode(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case yaml.ScalarNode:
		return appendScalar(out, n)
	default:
		return nil, fmt.Errorf("line %d: anchors and aliases are not supported", n.Line)
	}
}

// appendScalar writes strings, plain integers and nulls. A date is the string it looks like.
func appendScalar(out jsontext.Value, n *yaml.Node) (jsontext.Value, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return jsontext.AppendQuote(out, n.Value)
	case "!!null":
		return append(out, "null"...), nil
	case "!!int":
		if plainInteger.MatchString(n.Value) {
			return append(out, n.Value...), nil
		}
	}
	return nil, fmt.Errorf("line %d: %s is no string, plain integer or null; quote it", n.Line, n.Value)
}

// decode reads JSON into v and refuses unknown members.
func decode(data jsontext.Value, v any) error {
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}
