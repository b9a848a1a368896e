package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
)

// position is where a row stands in its table's order; unused parts are zero.
type position struct {
	key      int32
	txnID    string
	revision int64
	last     int64 // offset or day
}

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.key, o.key), strings.Compare(p.txnID, o.txnID), cmp.Compare(p.revision, o.revision), cmp.Compare(p.last, o.last))
}

// place checks that a row comes after the one before, and that its key is one of the partition's. The position's text is
// copied, because rows are reused.
func (r *rule) place(p position) error {
	if r.any && p.compare(r.last) <= 0 {
		mark.Hit("rebuild.3 rows out of order")
		return fmt.Errorf("%w: a row of stock key %d, transaction %q is out of order", rebuild.ErrDataset, p.key, p.txnID)
	}
	r.last, r.any = p, true
	keys := r.set.config.Namespace().Spec.StockKeys
	if p.key < 0 || int(p.key) >= len(keys) || r.set.config.SourcePartition(p.key) != r.partition {
		return fmt.Errorf("%w: stock key %d is none of partition %d", rebuild.ErrDataset, p.key, r.partition)
	}
	return nil
}

// within checks an offset against H.
func (r *rule) within(offset int64) error {
	if offset < 0 || offset >= r.set.index.Ends[r.partition] {
		return fmt.Errorf("%w: offset %d of partition %d is not below H %d", rebuild.ErrDataset, offset, r.partition, r.set.index.Ends[r.partition])
	}
	return nil
}

// payload checks a canonical payload (S3) and where it was seen.
func (r *rule) payload(txnID string, revision int64, kind int32, qty, offset int64) error {
	const txnIDBytesMax = 256
	bad := revision < 1 || kind < int32(ledger.KindNew) || kind > int32(ledger.KindCancel) || kind == int32(ledger.KindCancel) && qty != 0
	if bad || txnID == "" || len(txnID) > txnIDBytesMax {
		return fmt.Errorf("%w: transaction %q, revision %d, kind %d, quantity %d cannot be", rebuild.ErrDataset, txnID, revision, kind, qty)
	}
	return r.within(offset)
}

// cause checks an attribution.
func (r *rule) cause(txnID string, revision, offset int64) (ledger.Cause, error) {
	c := ledger.Cause{TxnID: txnID, Revision: revision, Partition: r.partition, Offset: offset}
	return c, r.payload(txnID, revision, int32(ledger.KindNew), 0, offset)
}

func (r *rule) authority(c *authorityColumns) (ledger.AuthorityRow, error) {
	row := ledger.AuthorityRow{
		KeyID: c.Key, TxnID: c.TxnID, Ambiguous: c.Ambiguous, SourceOffset: c.Offset,
		Payload: ledger.Payload{Revision: c.Revision, Kind: ledger.Kind(c.Kind), ValidTime: c.ValidTime, Qty: c.Qty},
	}
	if err := r.place(position{key: c.Key, txnID: c.TxnID}); err != nil {
		return row, err
	}
	return row, r.payload(c.TxnID, c.Revision, c.Kind, c.Qty, c.Offset)
}

func (r *rule) evidence(c *evidenceColumns) (ledger.EvidenceRow, error) {
	row := ledger.EvidenceRow{
		KeyID: c.Key, TxnID: c.TxnID, SourceOffset: c.Offset,
		Payload: ledger.Payload{Revision: c.Revision, Kind: ledger.Kind(c.Kind), ValidTime: c.ValidTime, Qty: c.Qty},
	}
	if err := r.place(position{key: c.Key, txnID: c.TxnID, revision: c.Revision, last: c.Offset}); err != nil {
		return row, err
	}
	return row, r.payload(c.TxnID, c.Revision, c.Kind, c.Qty, c.Offset)
}

func (r *rule) conflict(c *conflictColumns) (rebuild.Conflict, error) {
	row := rebuild.Conflict{Highest: c.Highest, ConflictRow: ledger.ConflictRow{
		KeyID: c.Key, TxnID: c.TxnID, Revision: c.Revision, DetectedOffset: c.Offset,
	}}
	if err := r.place(position{key: c.Key, txnID: c.TxnID, revision: c.Revision}); err != nil {
		return row, err
	}
	return row, r.payload(c.TxnID, c.Revision, int32(ledger.KindNew), 0, c.Offset)
}

func (r *rule) day(c *dayColumns) (rebuild.Day, error) {
	row := rebuild.Day{DayRow: ledger.DayRow{KeyID: c.Key, Day: c.Day, Active: c.Active, Close: c.Close, BalanceVersion: 1}}
	if c.Alert {
		row.AlertVersion, row.AlertPresent, row.AlertClose = 1, true, c.Close
	}
	if err := r.place(position{key: c.Key, last: int64(c.Day)}); err != nil {
		return row, err
	}
	if c.Active < 1 {
		return row, fmt.Errorf("%w: %s of stock key %d has %d active transactions", rebuild.ErrDataset, ledger.FormatDay(c.Day), c.Key, c.Active)
	}
	var err error
	row.Cause, err = r.cause(c.CauseTxnID, c.CauseRevision, c.CauseOffset)
	return row, err
}

func (r *rule) status(c *statusColumns) (rebuild.Status, error) {
	row := rebuild.Status{KeyID: c.Key}
	if err := r.place(position{key: c.Key}); err != nil {
		return row, err
	}
	var err error
	row.Cause, err = r.cause(c.CauseTxnID, c.CauseRevision, c.CauseOffset)
	return row, err
}

func (r *rule) quarantine(c *quarantineColumns) (ledger.QuarantineRow, error) {
	row := ledger.QuarantineRow{Offset: c.Offset, Reason: ledger.Reason(c.Reason), KeyLength: c.KeyLength, ValueLength: c.ValueLength}
	if r.any && c.Offset <= r.last.last {
		return row, fmt.Errorf("%w: the rejected record at offset %d is out of order", rebuild.ErrDataset, c.Offset)
	}
	r.last.last, r.any = c.Offset, true
	if !isReason(c.Reason) {
		return row, fmt.Errorf("%w: %q at offset %d is no reason", rebuild.ErrDataset, c.Reason, c.Offset)
	}
	var ok, okToo bool
	row.Key, row.KeySHA256, ok = raw(c.RawKey, c.KeyLength, c.KeySHA256)
	row.Value, row.ValueSHA256, okToo = raw(c.RawValue, c.ValueLength, c.ValueSHA256)
	if !ok || !okToo {
		return row, fmt.Errorf("%w: the rejected record at offset %d has other bytes than its lengths and digests say", rebuild.ErrDataset, c.Offset)
	}
	return row, r.within(c.Offset)
}

// raw returns what quarantine keeps of a raw key or value (R06): nil for null and for what is too long, and the digest.
func raw(kept []byte, length int64, digest []byte) ([]byte, []byte, bool) {
	const keptBytesMax = 1 << 20
	switch {
	case length == -1:
		return nil, nil, len(kept) == 0 && len(digest) == 0
	case length > keptBytesMax:
		return nil, bytes.Clone(digest), len(kept) == 0 && len(digest) == sha256.Size
	}
	sum := sha256.Sum256(kept)
	return append([]byte{}, kept...), bytes.Clone(digest), int64(len(kept)) == length && bytes.Equal(sum[:], digest)
}
