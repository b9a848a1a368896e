package kafkatest

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the kernel end the child when the test process is gone, however it ended.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
