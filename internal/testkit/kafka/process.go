package kafkatest

import (
	"os/exec"
	"runtime"
)

// process is a running child.
type process struct {
	command *exec.Cmd
	// ended is closed when the child is gone and was waited for.
	ended chan struct{}
}

// launch starts a command on an operating system thread of its own: where the system can end a child together with its
// parent, it does so when the starting thread ends, and Go ends threads as it likes.
func launch(command *exec.Cmd) (*process, error) {
	dieWithParent(command)
	p := &process{command: command, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			// How a broker ended is of no interest: tests kill it.
			_ = command.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill sends SIGKILL and waits.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}
