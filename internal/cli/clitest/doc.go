// Package clitest holds tests of amendsctl as a process, on bad input and infrastructure in trouble: each verb ends with
// one line that names what and what to do, with its documented exit code, and leaves a state that the next command goes
// on from.
package clitest
