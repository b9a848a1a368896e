package sim

import (
	"errors"
	"fmt"
	"time"
)

// op names a call of a port, where a fault can be placed.
type op string

// The calls of the worker, the relay, the view, and those that readers of both topics have.
const (
	opState     op = "state"
	opInstall   op = "install"
	opStop      op = "stop"
	opBegin     op = "begin"
	opRead      op = "read"
	opCommit    op = "commit"
	opOpen      op = "open"
	opPoll      op = "poll"
	opAcquire   op = "acquire"
	opPositions op = "positions"
	opPending   op = "pending"
	opPublish   op = "publish"
	opAppend    op = "append"
	opMark      op = "mark"
	opPosition  op = "position"
)

// mode is what goes wrong in a call.
type mode int

// The modes. Those from rejected on are the publisher's, those from nothing on a reader's.
const (
	// failed: the server refuses with an SQLSTATE; certainly no effect.
	failed mode = iota
	// lostUndone and lostDone: the answer never comes (SC18).
	lostUndone
	lostDone
	// crashBefore and crashAfter: the process dies around the effect.
	crashBefore
	crashAfter
	// frozen: the process stands still inside the call while others go on (SIGSTOP), then does it.
	frozen
	// cut: frozen, and meanwhile the server ends its transaction and frees the lock (B030).
	cut
	// slow: the call takes its time.
	slow
	// rejected: the broker takes the messages of one partition only up to one of them.
	rejected
	// unacknowledged: all are taken, but acknowledgements are lost from one on (SC20).
	unacknowledged
	// late: from one on they are taken when nobody expects it any more: the buffer of a process that was frozen (R17).
	late
	// twice: the broker takes one of them twice.
	twice
	// nothing: the poll ends before anything is delivered.
	nothing
	// short: the poll delivers a single record or marker.
	short
	// broken: opening or polling fails.
	broken
)

var modeNames = [...]string{
	failed: "refused", lostUndone: "answer lost, not done", lostDone: "answer lost, done", crashBefore: "crash before",
	crashAfter: "crash after", frozen: "frozen", cut: "frozen, transaction ended by the server", slow: "slow",
	rejected: "rejected", unacknowledged: "acknowledgement lost", late: "delivered late", twice: "delivered twice",
	nothing: "nothing delivered", short: "short poll", broken: "broker unreachable",
}

// String returns the mode in words.
func (m mode) String() string { return modeNames[m] }

// injection is at most one thing that goes wrong within one step.
type injection struct {
	op op
	// nth counts the calls of op within the step, from 0; for the publisher's modes it is the message.
	nth  int
	mode mode
	// code is the SQLSTATE of failed.
	code string
	// span is the number of actions that are taken while frozen.
	span int
	// delay is how long slow takes, and by how much the clock moves while frozen.
	delay time.Duration
}

// String describes the fault as a trace shows it.
func (f *injection) String() string {
	text := fmt.Sprintf("%s at %s", f.mode, f.op)
	if f.nth > 0 {
		text += fmt.Sprintf(" (%d before it)", f.nth)
	}
	switch f.mode {
	case failed:
		text += " with " + f.code
	case frozen, cut:
		text += fmt.Sprintf(" for %d actions", f.span)
	case slow:
		text += fmt.Sprintf(" by %v", f.delay)
	default:
	}
	return text
}

// errDead is what a call of a process that died returns. Nothing that the dead process still does has an effect.
var errDead = errors.New("process is dead")

// errLost is an answer that never came.
var errLost = errors.New("connection lost before the answer")

// errBroker is a broker that cannot be reached.
var errBroker = errors.New("broker unreachable")

// databaseError is what a server refuses with.
type databaseError struct{ code string }

// Error implements error.
func (e *databaseError) Error() string { return "SQLSTATE " + e.code }

// lockTimeout is SQLSTATE 55P03: somebody else's transaction stands still and holds the row.
var lockTimeout = &databaseError{code: "55P03"}
