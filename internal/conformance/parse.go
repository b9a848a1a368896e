package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
)

// fileName is a scenario's file in its folder.
const fileName = "scenario.yaml"

// Load reads every scenario of a folder, which has one folder for each. They are sorted by ID.
func Load(folder fs.FS) ([]*Scenario, error) {
	names, err := fs.Glob(folder, "*/"+fileName)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no folder with a %s", fileName)
	}
	var all []*Scenario
	for _, name := range names {
		s, err := read(folder, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if s.ID != path.Dir(name) {
			return nil, fmt.Errorf("%s: the scenario in this folder is %s", name, s.ID)
		}
		all = append(all, s)
	}
	return all, nil
}

// document is a scenario as its file has it.
type document struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	Section  string         `json:"section"`
	Pending  string         `json:"pending"`
	Manifest jsontext.Value `json:"manifest"`
	Levels   []Level        `json:"levels"`
	Steps    []Step         `json:"steps"`
	Expect   *Expectation   `json:"expect"`
	Variants []struct {
		Name     string         `json:"name"`
		Manifest jsontext.Value `json:"manifest"`
		Levels   []Level        `json:"levels"`
		Pending  string         `json:"pending"`
		Steps    []Step         `json:"steps"`
		Expect   *Expectation   `json:"expect"`
	} `json:"variants"`
}

// read parses one file.
func read(folder fs.FS, name string) (*Scenario, error) {
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	data, err := JSON(text)
	if err != nil {
		return nil, err
	}
	var d document
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	beside, err := fs.Sub(folder, path.Dir(name))
	if err != nil {
		return nil, err
	}
	return d.resolve(beside)
}

// resolve gives every variant what it leaves to the scenario.
func (d *document) resolve(beside fs.FS) (*Scenario, error) {
	s := &Scenario{ID: d.ID, Title: d.Title, Section: d.Section, Pending: d.Pending}
	if d.ID == "" || d.Title == "" || d.Section == "" {
		return nil, errors.New("id, title and section are required")
	}
	if (d.Variants == nil) == (d.Expect == nil) {
		return nil, errors.New("want either steps and expect, or variants")
	}
	if d.Variants == nil {
		v, err := d.variant("", d.Manifest, d.Levels, d.Pending, d.Steps, d.Expect, beside)
		if err != nil {
			return nil, err
		}
		s.Variants = []Variant{v}
		return s, nil
	}
	for _, given := range d.Variants {
		if given.Name == "" || slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Name == given.Name }) {
			return nil, fmt.Errorf("variant %q: a variant has a name of its own", given.Name)
		}
		if given.Manifest == nil {
			given.Manifest = d.Manifest
		}
		if given.Levels == nil {
			given.Levels = d.Levels
		}
		if given.Pending == "" {
			given.Pending = d.Pending
		}
		v, err := d.variant(given.Name, given.Manifest, given.Levels, given.Pending, given.Steps, given.Expect, beside)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", given.Name, err)
		}
		s.Variants = append(s.Variants, v)
	}
	return s, nil
}

// variant checks and completes one variant.
func (d *document) variant(name string, manifest jsontext.Value, levels []Level, pending string, steps []Step, expect *Expectation, beside fs.FS) (Variant, error) {
	c, err := configuration(manifest, beside)
	if err != nil {
		return Variant{}, err
	}
	if expect == nil {
		return Variant{}, errors.New("expect is missing")
	}
	if levels == nil {
		levels = Levels()
	}
	for _, level := range levels {
		if !slices.Contains(Levels(), level) {
			return Variant{}, fmt.Errorf("there is no level %q", level)
		}
	}
	v := Variant{Name: name, Manifest: c, Levels: levels, Pending: pending, Steps: steps, Expect: *expect}
	for i := range v.Steps {
		if err := v.Steps[i].complete(c); err != nil {
			return Variant{}, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := v.Expect.whole(pending != ""); err != nil {
		return Variant{}, fmt.Errorf("expect: %w", err)
	}
	if err := v.Expect.complete(c); err != nil {
		return Variant{}, fmt.Errorf("expect: %w", err)
	}
	return v, nil
}

// configuration reads an inline configuration, or the manifest that is named.
func configuration(value jsontext.Value, beside fs.FS) (*Configuration, error) {
	if value.Kind() == '"' {
		var name string
		if err := decode(value, &name); err != nil {
			return nil, err
		}
		return fromManifest(name, beside)
	}
	c := &Configuration{}
	if value == nil {
		return nil, errors.New("manifest is missing")
	}
	if err := decode(value, c); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return c, c.complete()
}

// complete fills the defaults in and checks the rest by the rules of manifests.
func (c *Configuration) complete() error {
	c.Partitions, c.OutputPartitions = max(1, c.Partitions), max(1, c.OutputPartitions)
	if c.LedgerOrigin == "" {
		c.LedgerOrigin = "2026-01-01T00:00:00Z"
	}
	if _, err := c.Namespace("scenario"); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return nil
}

// fromManifest reads a namespace manifest beside the scenario.
func fromManifest(name string, beside fs.FS) (*Configuration, error) {
	text, err := fs.ReadFile(beside, name)
	if err != nil {
		return nil, err
	}
	ns, problems := manifests.Parse(name, text, func(file string) ([]byte, error) { return fs.ReadFile(beside, file) })
	if err := problems.Err(); err != nil {
		return nil, err
	}
	spec := ns.Spec
	c := &Configuration{
		LedgerOrigin: spec.LedgerOriginText(), Partitions: spec.Source.Partitions, OutputPartitions: spec.Output.Partitions,
		MaxRecordBytes: spec.Source.MaxRecordBytes,
	}
	for _, k := range spec.StockKeys {
		c.StockKeys = append(c.StockKeys, StockKey(k))
	}
	return c, nil
}

// instant parses an instant of a configuration.
func instant(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("ledgerOrigin: %w", err)
	}
	return at.UnixNano(), nil
}

// only is the configuration's only stock key, which rows and records need not name.
func (c *Configuration) only(item, location *string) error {
	switch {
	case *item != "" && *location != "":
	case *item != "" || *location != "":
		return errors.New("item and location go together")
	case len(c.StockKeys) != 1:
		return errors.New("item and location may be left out only where there is one stock key")
	default:
		*item, *location = c.StockKeys[0].Item, c.StockKeys[0].Location
	}
	return nil
}

// whole requires every member that the end of a scenario must state.
func (e *Expectation) whole(pending bool) error {
	if e.Balances == nil || e.Alerts == nil || e.Statuses == nil || e.SupersededConflicts == nil || e.Rejections == nil ||
		e.Envelopes == nil && !pending || e.Verdict == "" {
		return errors.New("balances, alerts, statuses, supersededConflicts, rejections, envelopes and verdict are required")
	}
	if e.OutOfDomain == nil {
		e.OutOfDomain = []projection.OutOfDomain{}
	}
	if e.Retained == nil {
		e.Retained = &Facts{Balances: []projection.Balance{}, Alerts: []projection.Alert{}}
	}
	return nil
}
