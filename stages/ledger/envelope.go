package ledger

import "strconv"

// envelopeSchemaVersion is schema_version of every envelope of semantics version 1.
const envelopeSchemaVersion = 1

// The message types (S7).
const (
	typeBalanceStated    = "BalanceStated"
	typeBalanceRetracted = "BalanceRetracted"
	typeAlertRaised      = "AlertRaised"
	typeAlertRetracted   = "AlertRetracted"
	typeKeyStatusStated  = "KeyStatusStated"
)

// The output families as output IDs name them.
const (
	familyBalance   = "balance"
	familyAlert     = "alert"
	familyKeyStatus = "key-status"
)

// The key statuses.
const (
	statusReady   = "READY"
	statusBlocked = "BLOCKED"
)

// emitBalance states or withdraws the balance of a day.
func (b *Batch) emitBalance(d *decision, row DayRow) {
	text := b.openEnvelope(d, familyBalance, FormatDay(row.Day))
	kind := typeBalanceRetracted
	if row.Active > 0 {
		kind = typeBalanceStated
		text = b.appendFact(text, row, row.Close)
		text = append(text, '}')
	} else {
		text = append(text, "null"...)
	}
	b.closeEnvelope(d, text, kind, row.BalanceVersion)
}

// emitAlert raises or retracts the alert of a day.
func (b *Batch) emitAlert(d *decision, row DayRow) {
	text := b.openEnvelope(d, familyAlert, FormatDay(row.Day))
	kind := typeAlertRetracted
	if row.AlertPresent {
		kind = typeAlertRaised
		text = b.appendFact(text, row, row.AlertClose)
		text = append(text, `,"threshold":`...)
		text = strconv.AppendInt(text, b.cfg.StockKey(row.KeyID).ReorderThreshold, 10)
		text = append(text, '}')
	} else {
		text = append(text, "null"...)
	}
	b.closeEnvelope(d, text, kind, row.AlertVersion)
}

// emitStatus states the trust status of a key with its reason set (R10).
func (b *Batch) emitStatus(d *decision, row KeyRow) {
	text := b.openEnvelope(d, familyKeyStatus)
	text = append(text, `{"conflicts":[`...)
	for i, ref := range row.Conflicts {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendRevision(text, ref.TxnID, ref.Revision)
	}
	key := b.cfg.StockKey(row.KeyID)
	text = append(text, `],"item":`...)
	text = appendString(text, key.Item)
	text = append(text, `,"location":`...)
	text = appendString(text, key.Location)
	text = append(text, `,"status":"`...)
	if len(row.Conflicts) > 0 {
		text = append(text, statusBlocked...)
	} else {
		text = append(text, statusReady...)
	}
	text = append(text, `"}`...)
	b.closeEnvelope(d, text, typeKeyStatusStated, row.StatusVersion)
}

// openEnvelope writes an envelope up to its payload. Members are in RFC 8785 order; the bytes are published and
// compared as they are (S7), so they are written once and never re-encoded.
func (b *Batch) openEnvelope(d *decision, family string, day ...string) []byte {
	text := b.text.open()
	text = append(text, `{"cause":`...)
	text = appendRevision(text, d.tx.TxnID, d.tx.Payload.Revision)
	text = append(text, `,"namespace":`...)
	name := b.cfg.Namespace().Name
	text = appendString(text, name)
	text = append(text, `,"output_id":`...)
	key := b.cfg.StockKey(d.key.id)
	if len(day) > 0 {
		text = appendTuple(text, name, family, key.Item, key.Location, day[0])
	} else {
		text = appendTuple(text, name, family, key.Item, key.Location)
	}
	return append(text, `,"payload":`...)
}

// closeEnvelope writes the rest of an envelope and appends it to the batch.
func (b *Batch) closeEnvelope(d *decision, text []byte, kind string, version int64) {
	text = append(text, `,"schema_version":`...)
	text = strconv.AppendInt(text, envelopeSchemaVersion, 10)
	text = append(text, `,"source":{"offset":`...)
	text = strconv.AppendInt(text, d.rec.Offset, 10)
	text = append(text, `,"partition":`...)
	text = strconv.AppendInt(text, int64(d.rec.Partition), 10)
	text = append(text, `,"topic_id":`...)
	text = appendString(text, b.cfg.SourceTopicID())
	text = append(text, `},"type":"`...)
	text = append(text, kind...)
	text = append(text, `","version":`...)
	text = strconv.AppendInt(text, version, 10)
	text = append(text, '}')
	b.envelopes = append(b.envelopes, Envelope{Key: b.cfg.BrokerKey(d.key.id), Value: b.text.close(text)})
}

// appendFact appends the members that a balance and an alert share, without the closing brace.
func (b *Batch) appendFact(text []byte, row DayRow, closing int64) []byte {
	key := b.cfg.StockKey(row.KeyID)
	text = append(text, `{"close":`...)
	text = strconv.AppendInt(text, closing, 10)
	text = append(text, `,"day":"`...)
	text = appendDay(text, row.Day)
	text = append(text, `","item":`...)
	text = appendString(text, key.Item)
	text = append(text, `,"location":`...)
	return appendString(text, key.Location)
}

// appendRevision appends a reference to a revision of a transaction.
func appendRevision(text []byte, txnID string, revision int64) []byte {
	text = append(text, `{"revision":`...)
	text = strconv.AppendInt(text, revision, 10)
	text = append(text, `,"txn_id":`...)
	text = appendString(text, txnID)
	return append(text, '}')
}

// arena hands out byte slices cut from large blocks: one allocation for hundreds of envelopes.
type arena struct{ block []byte }

// arenaBlock is the size of one block in bytes.
const arenaBlock = 64 << 10

// open returns an empty slice to append one text to.
func (a *arena) open() []byte {
	const enough = 1 << 10 // a longer text moves to an allocation of its own
	if cap(a.block)-len(a.block) < enough {
		a.block = make([]byte, 0, arenaBlock)
	}
	return a.block[len(a.block):]
}

// close takes the text begun by open and returns it with no spare capacity.
func (a *arena) close(text []byte) []byte {
	if free := a.block[len(a.block):]; cap(free) >= len(text) && &free[:1][0] == &text[0] {
		a.block = a.block[:len(a.block)+len(text)]
	}
	return text[:len(text):len(text)]
}
