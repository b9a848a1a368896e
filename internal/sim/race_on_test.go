//go:build race

package sim

// raceDetector says that everything takes ten times as long.
const raceDetector = true
