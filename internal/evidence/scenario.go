package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// scenario is what the page needs of one file of conformance/amends.
type scenario struct {
	Title    string   `yaml:"title"`
	Pending  string   `yaml:"pending"`
	Levels   []string `yaml:"levels"`
	Variants []struct {
		Name    string   `yaml:"name"`
		Pending string   `yaml:"pending"`
		Levels  []string `yaml:"levels"`
	} `yaml:"variants"`
}

// realBroker are the scenarios that run on Apache Kafka too (internal/conformance TestRealBroker).
var realBroker = []string{"SC18", "SC19", "SC20", "SC21", "SC25"}

// levelTests are the tests of a level, by column. The level pipeline runs every stage over a broker up to the verdict.
var levelTests = []struct {
	level, test string
	columns     []column
}{
	{"core", "conformance.TestCore", []column{model}},
	{"store", "conformance.TestStore", []column{postgres}},
	{"pipeline", "conformance.TestPipeline", []column{source, delivery, verifier}},
	{"oracle", "conformance.TestOracle", []column{verifier}},
}

// loadScenarios reads the corpus.
func loadScenarios(root string) (map[string]*scenario, error) {
	folder := filepath.Join(root, "conformance", "amends")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := map[string]*scenario{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name(), "scenario.yaml"))
		if err != nil {
			return nil, err
		}
		s := &scenario{}
		if err := yaml.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("read scenario %s: %w", entry.Name(), err)
		}
		all[entry.Name()] = s
	}
	return all, nil
}

// applies reports whether any variant that is run today applies to a level.
func (s *scenario) applies(level string) bool {
	at := func(levels []string) bool { return len(levels) == 0 || slices.Contains(levels, level) }
	if s.Pending != "" {
		return false
	}
	for _, v := range s.Variants {
		if v.Pending == "" && at(v.Levels) {
			return true
		}
	}
	return len(s.Variants) == 0 && at(s.Levels)
}

// complete adds the tests of a row's scenarios to its columns.
func (d *document) complete(r *row) {
	for _, id := range r.Scenarios {
		s := d.scenarios[id]
		if s == nil {
			continue // a fault, found by faults
		}
		for _, l := range levelTests {
			for _, c := range l.columns {
				if s.applies(l.level) {
					r.add(c, l.test+"/"+id)
				}
				if l.level == "pipeline" && s.applies(l.level) && slices.Contains(realBroker, id) {
					r.add(c, "conformance.TestRealBroker/"+id)
				}
			}
		}
	}
}
