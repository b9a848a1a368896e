//go:build !linux

package kafkatest

import "os/exec"

// dieWithParent has no counterpart on this system: a broker of a killed test process stays until it is ended by hand.
func dieWithParent(*exec.Cmd) {}
