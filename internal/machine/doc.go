// Package machine tells what this machine has, as far as defaults depend on it, and what time it is here.
package machine
