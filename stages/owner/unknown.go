package owner

import "errors"

// ErrUnknownOutcome is wrapped by an error of a Store after which the transaction may or may not have happened: the
// connection broke around its commit. Asking again with the same identities finds out.
var ErrUnknownOutcome = errors.New("commit outcome unknown")
