package postgres

// NotCommitted reports whether an error of a COMMIT, or of a pipeline that ends in one, says that the transaction
// certainly did not happen: it was never sent, or the server answered that it failed. After any other error the outcome
// is unknown.
func NotCommitted(err error) bool { return certainlyNotCommitted(err) }

// ClassifyFault marks an error of the server that no retry can clear, a violated constraint or a value out of range, with
// fault.Stop, and returns others as they are.
func ClassifyFault(err error) error { return classify(err) }
