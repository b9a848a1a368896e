// Package embedded runs a broker inside this process for the demo: kfake on a folder, with synced writes, so that
// every acknowledged record, topic ID and config survives the end of the process, also by SIGKILL. kfake takes no lock
// on its folder and two processes would damage it, so this package does.
//
// It is one broker without replicas, for demos and trials; it promises nothing about load.
package embedded
