// Package dataset reads a derived-state dataset (schemas/derived-state.json) for a rebuild. The data is not trusted: a file
// is used only after its digest, its columns and its number of rows were verified, and every row must be one that the
// namespace can have, in its place. It shares no code with what writes such datasets.
package dataset
