package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// urlError is a connection URL that cannot be read. Its text names the kind of fault and shows nothing of the URL: where
// the parts of a broken one begin and end is anybody's guess, and so is where the password stands. pgx masks what it
// recognizes as one, which is not all.
type urlError struct {
	reason string
	err    error
}

// unreadable wraps an error of parsing a connection URL.
func unreadable(err error) error {
	reason := "it is neither a URL nor a list of keywords and values"
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		bare := *parse
		bare.ConnString = ""
		// The text in parentheses quotes parts of the URL.
		reason, _, _ = strings.Cut(strings.TrimPrefix(bare.Error(), "cannot parse ``: "), " (")
	}
	return &urlError{reason: reason, err: err}
}

// Error implements error.
func (e *urlError) Error() string { return "database URL: " + e.reason }

// Unwrap returns the parser's error, whose text may show the password.
func (e *urlError) Unwrap() error { return e.err }
