package ownerconformance

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Load reads every JSON file of a folder, sorted by name. Errors name file, scenario and step.
func Load(folder fs.FS) ([]*File, error) {
	if _, err := fs.ReadDir(folder, "."); err != nil { // which Glob passes over
		return nil, err
	}
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there is no JSON file in the folder")
	}
	slices.Sort(names)
	var files []*File
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		f, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.Name = name
		files = append(files, f)
	}
	markOrders(files)
	return files, nil
}

// document is a file.
type document struct {
	ProtocolVersion uint64           `json:"protocol_version"`
	Kind            string           `json:"kind"`
	Model           string           `json:"model"`
	Description     string           `json:"description"`
	Scenarios       []jsontext.Value `json:"scenarios"`
}

// scenarioDocument is a scenario.
type scenarioDocument struct {
	ID              string                 `json:"id"`
	OwnerID         string                 `json:"owner_id"`
	Mode            string                 `json:"mode"`
	Fence           uint64                 `json:"fence"`
	Steps           *[]jsontext.Value      `json:"steps,omitempty"`
	Fingerprints    *fingerprintCase       `json:"fingerprint_case,omitempty"`
	Reconciliations *[]*reconciliationCase `json:"reconciliation_cases,omitempty"`
}

// stepDocument is a step.
type stepDocument struct {
	Op     jsontext.Value `json:"op"`
	Expect struct {
		Result result `json:"result"`
		Image  image  `json:"image"`
	} `json:"expect"`
}

// parse reads one file.
func parse(text []byte) (*File, error) {
	var d document
	if err := strictly(text, &d); err != nil {
		return nil, err
	}
	if d.ProtocolVersion != 1 || d.Kind != "DurableOwner" {
		return nil, fmt.Errorf("protocol_version %d and kind %q, want 1 and DurableOwner", d.ProtocolVersion, d.Kind)
	}
	if models := []string{modelAtomic, modelOrdered, modelIdentity, modelProjection}; !slices.Contains(models, d.Model) {
		return nil, fmt.Errorf("there is no model %q; want one of %v", d.Model, models)
	}
	if len(d.Scenarios) == 0 {
		return nil, errors.New("there is no scenario")
	}
	f := &File{Model: d.Model}
	seen := map[string]bool{}
	for i, raw := range d.Scenarios {
		s, err := parseScenario(raw)
		if err != nil {
			return nil, fmt.Errorf("scenario %d%s: %w", i+1, nameOf(raw), err)
		}
		if seen[s.ID] {
			return nil, fmt.Errorf("scenario %d: %q is there twice", i+1, s.ID)
		}
		seen[s.ID] = true
		f.Scenarios = append(f.Scenarios, s)
	}
	return f, nil
}

// nameOf is the ID of a scenario for an error, where it can be found.
func nameOf(raw jsontext.Value) string {
	var named struct {
		ID string `json:"id"`
	}
	if err := loosely(raw, &named); err != nil || named.ID == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", named.ID)
}

func parseScenario(raw jsontext.Value) (*Scenario, error) {
	var d scenarioDocument
	if err := strictly(raw, &d); err != nil {
		return nil, err
	}
	s := &Scenario{ID: d.ID, OwnerID: d.OwnerID, Mode: d.Mode, Fence: d.Fence, Fingerprints: d.Fingerprints}
	if d.Steps != nil {
		for i, raw := range *d.Steps {
			step, err := parseStep(raw)
			if err != nil {
				return nil, fmt.Errorf("step %d: %w", i+1, err)
			}
			s.Steps = append(s.Steps, step)
		}
	}
	if d.Reconciliations != nil {
		s.Reconciliations = *d.Reconciliations
	}
	if len(s.Steps) == 0 && s.Fingerprints == nil && len(s.Reconciliations) == 0 {
		return nil, errors.New("there is neither a step nor a fingerprint_case nor one of reconciliation_cases")
	}
	return s, nil
}

func parseStep(raw jsontext.Value) (*Step, error) {
	var d stepDocument
	if err := strictly(raw, &d); err != nil {
		return nil, err
	}
	s := &Step{Result: &d.Expect.Result, Image: &d.Expect.Image}
	var typed struct {
		Type string `json:"type"`
	}
	if err := loosely(d.Op, &typed); err != nil {
		return nil, fmt.Errorf("op: %w", err)
	}
	s.Type = typed.Type
	if err := s.parseOp(d.Op); err != nil {
		return nil, fmt.Errorf("op %q: %w", s.Type, err)
	}
	return s, nil
}

// parseOp reads an operation by its type.
func (s *Step) parseOp(raw jsontext.Value) error {
	switch s.Type {
	case opCommit, opCrashBefore:
		var op struct {
			Type   string `json:"type"`
			Commit commit `json:"commit"`
		}
		if err := strictly(raw, &op); err != nil {
			return err
		}
		s.Commit = &op.Commit
		if (op.Commit.State.AppendEvents == nil) == (op.Commit.State.ReplaceSnapshot == nil) {
			return errors.New("commit.state wants exactly one of append_events and replace_snapshot")
		}
	case opCrashRecover:
		var op struct {
			Type string `json:"type"`
		}
		return strictly(raw, &op)
	case opAdvanceFence:
		var op struct {
			Type  string `json:"type"`
			Fence uint64 `json:"fence"`
		}
		if err := strictly(raw, &op); err != nil {
			return err
		}
		s.Fence = op.Fence
	case opReceipt:
		var op struct {
			Type    string  `json:"type"`
			Fence   uint64  `json:"fence"`
			Receipt receipt `json:"receipt"`
		}
		if err := strictly(raw, &op); err != nil {
			return err
		}
		s.Fence, s.Receipt = op.Fence, &op.Receipt
	default:
		return fmt.Errorf("there is no such operation; want %s, %s, %s, %s or %s", opCommit, opCrashBefore, opCrashRecover, opAdvanceFence, opReceipt)
	}
	return nil
}
