package ledger

// Cause is the source record that an envelope is attributed to (S7).
type Cause struct {
	// TxnID and Revision are what the record asserts.
	TxnID    string
	Revision int64
	// Partition and Offset are its source coordinates.
	Partition int32
	Offset    int64
}

// Renderer renders envelopes of facts that were not decided here but loaded as data (R26): the bytes are those that a Batch
// emits for the same rows and causes. It is used by one goroutine; envelopes stay valid.
type Renderer struct {
	batch    Batch
	decision decision
	key      keyState
}

// NewRenderer returns a renderer of a namespace's envelopes.
func NewRenderer(cfg *Config) *Renderer { return &Renderer{batch: Batch{cfg: cfg}} }

// Balance renders the balance of a day as the row has it, stated or withdrawn.
func (r *Renderer) Balance(row DayRow, cause Cause) Envelope {
	r.batch.emitBalance(r.attribute(row.KeyID, cause), row)
	return r.take()
}

// Alert renders the alert of a day as the row has it, raised or retracted.
func (r *Renderer) Alert(row DayRow, cause Cause) Envelope {
	r.batch.emitAlert(r.attribute(row.KeyID, cause), row)
	return r.take()
}

// Status renders the trust status of a key.
func (r *Renderer) Status(row KeyRow, cause Cause) Envelope {
	r.batch.emitStatus(r.attribute(row.KeyID, cause), row)
	return r.take()
}

// attribute makes the decision that the batch's own rendering expects.
func (r *Renderer) attribute(keyID int32, cause Cause) *decision {
	r.key.id = keyID
	r.decision.key = &r.key
	r.decision.rec.Partition, r.decision.rec.Offset = cause.Partition, cause.Offset
	r.decision.tx.TxnID, r.decision.tx.Payload.Revision = cause.TxnID, cause.Revision
	return &r.decision
}

// take returns the envelope just emitted and forgets it.
func (r *Renderer) take() Envelope {
	e := r.batch.envelopes[0]
	r.batch.envelopes = r.batch.envelopes[:0]
	return e
}
