// Package viewtest is the view's test kit: an in-memory Store (package memory) and output log, a builder of envelopes that shares no
// code with the worker or with the parser, and Suite, the scenarios that every Store must pass.
package viewtest
