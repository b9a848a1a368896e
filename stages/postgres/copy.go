package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/ledger"
)

var (
	conflictColumns   = []string{"key_id", "txn_id", "revision", "detected_offset"}
	keyColumns        = []string{"key_id", "status_version", "conflict_txns", "conflict_revisions"}
	outboxColumns     = []string{"partition", "first_seq", "count", "frames"}
	quarantineColumns = []string{"partition", "source_offset", "topic_id", "reason", "key", "value", "key_length", "value_length",
		"key_sha256", "value_sha256"}
)

// copyHeader and copyTrailer frame rows in Postgres's binary COPY format: signature, flags, length of extensions; and the
// number of fields that ends the rows.
const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyTrailer = "\xff\xff"
)

// copying is one table's COPY: its rows are made and encoded by another goroutine, while those before are on their way, or
// still a COPY before this one.
type copying struct {
	table   string
	columns []string
	encode  func(*chunkWriter) error
	chunks  *chunkReader
}

// table describes the COPY of a sequence of rows into a table.
func table[T any](name string, columns []string, rows iter.Seq2[T, error], encode func(*binaryRow, *T)) *copying {
	return &copying{table: name, columns: columns, encode: func(w *chunkWriter) error { return encodeRows(w, len(columns), rows, encode) }}
}

// begin begins to encode. The caller calls run or end.
func (c *copying) begin() { c.chunks = startChunks(c.encode) }

// run writes the table. An error of the sequence is returned as it is.
func (c *copying) run(ctx context.Context, tx pgx.Tx) error {
	sql := "COPY " + quote(c.table) + " (" + strings.Join(c.columns, ", ") + ") FROM STDIN BINARY"
	_, err := tx.Conn().PgConn().CopyFrom(ctx, c.chunks, sql)
	if sourceErr := c.end(); sourceErr != nil {
		return sourceErr
	}
	if err != nil {
		return fmt.Errorf("copy into %s: %w", c.table, err)
	}
	return nil
}

// end waits until nothing is encoded any more, and returns the error of the sequence. Without begin it does nothing.
func (c *copying) end() error {
	if c.chunks == nil {
		return nil
	}
	return c.chunks.end()
}

// copyAll writes tables one after the other; the next one is encoded while one is written.
func copyAll(ctx context.Context, tx pgx.Tx, tables []*copying) error {
	defer func() {
		for _, t := range tables {
			_ = t.end() // where there was an error before
		}
	}()
	tables[0].begin()
	for i, t := range tables {
		if i+1 < len(tables) {
			tables[i+1].begin()
		}
		if err := t.run(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// encodeRows writes rows in the binary format.
func encodeRows[T any](w *chunkWriter, columns int, rows iter.Seq2[T, error], encode func(*binaryRow, *T)) error {
	row := binaryRow{buffer: append(w.chunk(), copyHeader...)}
	for v, err := range rows {
		if err != nil {
			return err
		}
		row.buffer = binary.BigEndian.AppendUint16(row.buffer, uint16(columns))
		encode(&row, &v)
		if len(row.buffer) < copyChunk {
			continue
		}
		if err := w.pass(row.buffer); err != nil {
			return err
		}
		row.buffer = w.chunk()
	}
	return w.pass(append(row.buffer, copyTrailer...))
}

// binaryRow appends fields in Postgres's binary formats: each has its length in bytes before it, -1 for null.
type binaryRow struct{ buffer []byte }

func (b *binaryRow) length(n int) { b.buffer = binary.BigEndian.AppendUint32(b.buffer, uint32(n)) }

func (b *binaryRow) int16(v int16) {
	b.length(2)
	b.buffer = binary.BigEndian.AppendUint16(b.buffer, uint16(v))
}

func (b *binaryRow) int32(v int32) {
	b.length(4)
	b.buffer = binary.BigEndian.AppendUint32(b.buffer, uint32(v))
}

func (b *binaryRow) int64(v int64) {
	b.length(8)
	b.buffer = binary.BigEndian.AppendUint64(b.buffer, uint64(v))
}

func (b *binaryRow) bool(v bool) {
	b.length(1)
	if v {
		b.buffer = append(b.buffer, 1)
	} else {
		b.buffer = append(b.buffer, 0)
	}
}

func (b *binaryRow) text(s string) {
	b.length(len(s))
	b.buffer = append(b.buffer, s...)
}

// bytes appends bytes; nil is null.
func (b *binaryRow) bytes(v []byte) {
	if v == nil {
		b.length(-1)
		return
	}
	b.length(len(v))
	b.buffer = append(b.buffer, v...)
}

// array appends a one-dimensional array without nulls: the element's type, and its n elements as they append themselves.
func (b *binaryRow) array(elementOID uint32, n int, element func(i int)) {
	at := len(b.buffer)
	b.length(0)
	dimensions := uint32(0)
	if n > 0 {
		dimensions = 1
	}
	for _, v := range []uint32{dimensions, 0, elementOID} { // the zero: no element is null
		b.buffer = binary.BigEndian.AppendUint32(b.buffer, v)
	}
	if n > 0 {
		b.length(n)
		b.length(1) // the lowest index
	}
	for i := range n {
		element(i)
	}
	binary.BigEndian.PutUint32(b.buffer[at:], uint32(len(b.buffer)-at-4))
}

func (b *binaryRow) payload(p *ledger.Payload) {
	b.int64(p.Revision)
	b.int16(int16(p.Kind))
	b.int64(p.ValidTime)
	b.int64(p.Qty)
}

func encodeAuthority(b *binaryRow, a *ledger.AuthorityRow) {
	b.int32(a.KeyID)
	b.text(a.TxnID)
	b.payload(&a.Payload)
	b.bool(a.Ambiguous)
	b.int64(a.SourceOffset)
}

func encodeEvidence(b *binaryRow, e *ledger.EvidenceRow) {
	b.int32(e.KeyID)
	b.text(e.TxnID)
	b.payload(&e.Payload)
	b.int64(e.SourceOffset)
}

func encodeConflict(b *binaryRow, c *ledger.ConflictRow) {
	b.int32(c.KeyID)
	b.text(c.TxnID)
	b.int64(c.Revision)
	b.int64(c.DetectedOffset)
}

func encodeDay(b *binaryRow, d *ledger.DayRow) {
	b.int32(d.KeyID)
	b.int32(d.Day)
	b.int64(d.Active)
	b.int64(d.Close)
	b.int64(d.BalanceVersion)
	b.int64(d.AlertVersion)
	b.bool(d.AlertPresent)
	b.int64(d.AlertClose)
}

// The object IDs of the types of array elements.
const (
	oidText   = 25
	oidBigint = 20
)

func encodeKey(b *binaryRow, k *ledger.KeyRow) {
	b.int32(k.KeyID)
	b.int64(k.StatusVersion)
	b.array(oidText, len(k.Conflicts), func(i int) { b.text(k.Conflicts[i].TxnID) })
	b.array(oidBigint, len(k.Conflicts), func(i int) { b.int64(k.Conflicts[i].Revision) })
}

func encodeQuarantine(b *binaryRow, partition int32, topicID string, q *ledger.QuarantineRow) {
	b.int32(partition)
	b.int64(q.Offset)
	b.text(topicID)
	b.text(string(q.Reason))
	b.bytes(q.Key)
	b.bytes(q.Value)
	b.int64(q.KeyLength)
	b.int64(q.ValueLength)
	b.bytes(q.KeySHA256)
	b.bytes(q.ValueSHA256)
}
