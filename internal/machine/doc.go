// Package machine tells what this machine has, as far as defaults depend on it.
package machine
