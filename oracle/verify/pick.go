package verify

import (
	"fmt"
	"strings"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/engine"
)

// pick chooses the judge: the named engine or the first that shares nothing with what built the state (R26).
func pick(engines []engine.Engine, name, builtBy string) (engine.Engine, error) {
	var names []string
	for _, e := range engines {
		names = append(names, e.Name())
		builder := builds(e, builtBy)
		switch {
		case name == EngineAuto && !builder:
			return e, nil
		case name == e.Name() && builder:
			mark.Hit("R26 builder may not judge")
			return nil, fmt.Errorf("%w: engine %s, or its decoder, built this state (%s) and cannot judge it; use %s",
				ErrRefused, name, builtBy, strings.Join(judges(engines, builtBy), " or "))
		case name == e.Name():
			return e, nil
		}
	}
	return nil, fmt.Errorf("%w: no engine %q may judge state built by %s; there are %s",
		ErrRefused, name, builtBy, strings.Join(names, ", "))
}

// judges are the names of the engines that may judge, auto first.
func judges(engines []engine.Engine, builtBy string) []string {
	names := []string{EngineAuto}
	for _, e := range engines {
		if !builds(e, builtBy) {
			names = append(names, e.Name())
		}
	}
	return names
}

// builds says whether an engine shares the engine or the decoder of what built the state. builtBy is "stream", or an
// engine's name and then fields such as decoder=NAME and version=V.
func builds(e engine.Engine, builtBy string) bool {
	fields := strings.Fields(builtBy)
	if len(fields) == 0 {
		return false
	}
	if fields[0] == e.Name() {
		return true
	}
	reader, ok := e.(engine.Reader)
	for _, field := range fields[1:] {
		if decoder, found := strings.CutPrefix(field, "decoder="); found && ok && decoder == reader.Decoder() {
			return true
		}
	}
	return false
}
