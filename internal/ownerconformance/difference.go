package ownerconformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// differences are the places at which two values differ as JSON, one line each, beginning with the place. A member that
// want leaves out is not compared.
func differences(at string, want, got any) ([]string, error) {
	expected, err := plain(want)
	if err != nil {
		return nil, err
	}
	found, err := plain(got)
	if err != nil {
		return nil, err
	}
	return walk(at, expected, found), nil
}

// plain is a value as maps, lists and literals, numbers as they are written.
func plain(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return tree, nil
}

func walk(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		found, ok := got.(map[string]any)
		if !ok {
			break
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			lines = append(lines, walk(at+"."+name, want[name], found[name])...)
		}
		return lines
	case []any:
		found, ok := got.([]any)
		if !ok {
			break
		}
		if len(want) != len(found) {
			return []string{fmt.Sprintf("%s: want %d, found %d: %s, %s", at, len(want), len(found), shown(want), shown(found))}
		}
		var lines []string
		for i := range want {
			lines = append(lines, walk(fmt.Sprintf("%s[%d]", at, i), want[i], found[i])...)
		}
		return lines
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, found %s", at, shown(want), shown(got))}
}

// shownMax bounds what a line shows of a value.
const shownMax = 200

// shown is a value for people.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > shownMax {
		return string(text[:shownMax]) + "…"
	}
	return string(text)
}
