package sim

import (
	"fmt"
	"time"
)

// kind is what an action does.
type kind int

// The actions.
const (
	// stepWorker, stepRelay and stepView step one lane or partition (arg) of one process (actor).
	stepWorker kind = iota
	stepRelay
	stepView
	// produce appends the next arg events of the history to the source topic.
	produce
	// pass lets time pass.
	pass
	// rebalance gives the partitions to the workers in the bit set arg; the callbacks are queued.
	rebalance
	// deliver runs the oldest queued callback of a worker; deliverOld repeats an earlier one; deliverEmpty takes
	// everything away.
	deliver
	deliverOld
	deliverEmpty
	// restartWorker, restartRelay and restartView end a process, orderly where arg is 1, and start it again.
	restartWorker
	restartRelay
	restartView
	// flush makes arg late messages arrive.
	flush
	// marker appends a control marker, and a gap before it, to the output topic.
	marker
)

var kindNames = [...]string{
	stepWorker: "step worker", stepRelay: "step relay", stepView: "step view", produce: "produce", pass: "pass",
	rebalance: "rebalance", deliver: "deliver assignment", deliverOld: "deliver an old assignment",
	deliverEmpty: "deliver an empty assignment", restartWorker: "restart worker", restartRelay: "restart relay",
	restartView: "restart view", flush: "late messages arrive", marker: "output marker",
}

// action is one decision of the schedule. It may be taken in any state.
type action struct {
	kind  kind
	actor int
	arg   int
	wait  time.Duration
	fault *injection
}

// String describes the action without its outcome.
func (a action) String() string {
	text := fmt.Sprintf("%s %d/%d", kindNames[a.kind], a.actor, a.arg)
	if a.kind == pass {
		text = fmt.Sprintf("pass %v", a.wait)
	}
	if a.fault != nil {
		text += ": " + a.fault.String()
	}
	return text
}
