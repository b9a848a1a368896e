// Package outputs holds what amendsctl really prints under -o json to schemas/outputs.json, in every test that runs it.
package outputs

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/schemas"
)

// file is the schema's name, and base what all schemas' names begin with.
const (
	file = "outputs.json"
	base = "https://amends.dev/schemas/"
)

// Verbs returns the verbs that the schema knows, as people write them: "describe namespace".
func Verbs() ([]string, error) {
	text, err := schemas.Read(file)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	object, _ := doc.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	var verbs []string
	for verb := range properties {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	return verbs, nil
}

// Compile returns the schema of a verb's answer, that of an error object where verb is "error".
func Compile(verb string) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	names, err := fs.Glob(schemas.Files(), "*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := schemas.Read(name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = compiler.AddResource(base+name, doc)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	at := "/properties/" + strings.ReplaceAll(verb, " ", "%20")
	if verb == "error" {
		at = "/$defs/error"
	}
	return compiler.Compile(base + file + "#" + at)
}

// VerbOf finds the verb of a command line, "" where the arguments name none of them.
func VerbOf(args []string, verbs []string) string {
	var words []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && arg != "json" {
			words = append(words, arg)
		}
	}
	aliases := map[string]string{"get verification": "get verifications", "get namespace": "get namespaces", "conformance": "conformance amends"}
	for n := min(2, len(words)); n > 0; n-- {
		verb := strings.Join(words[:n], " ")
		if full := aliases[verb]; full != "" {
			verb = full
		}
		if slices.Contains(verbs, verb) {
			return verb
		}
	}
	return ""
}

// AsJSON says whether a command line asks for JSON.
func AsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// Check compares what an invocation of amendsctl printed to stdout with the schema. Nothing at all is what an invocation
// prints that failed, or was not asked for JSON.
func Check(args []string, stdout []byte) error {
	if !AsJSON(args) || len(stdout) == 0 {
		return nil
	}
	verbs, err := Verbs()
	if err != nil {
		return err
	}
	verb := VerbOf(args, verbs)
	if verb == "" {
		return fmt.Errorf("schemas/%s has no answer of amendsctl %s", file, strings.Join(args, " "))
	}
	schema, err := Compile(verb)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		return fmt.Errorf("the answer of amendsctl %s is not as schemas/%s says: %w", strings.Join(args, " "), file, err)
	}
	return nil
}
