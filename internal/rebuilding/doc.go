// Package rebuilding puts the two sides of a rebuild together: the oracle's side, which derives a dataset from a history,
// and the stages' side, which loads it, or streams the history instead. `rebuild`, the scenarios and the end-to-end tests
// share it, so that what is tested is what runs.
package rebuilding
