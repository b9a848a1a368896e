// Package progress shows on a terminal how far a long computation is. Elsewhere it shows nothing.
package progress
