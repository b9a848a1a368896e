package arrow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/vectorized"
)

// gatherer sorts the rows of typed batches into the ledger of accepted records and the rejections.
type gatherer struct {
	keys       *decode.Decoder
	ledger     *vectorized.LedgerBuilder
	rejections []projection.Rejection
}

// newGatherer is an empty gatherer.
func newGatherer(mem memory.Allocator, ns *manifests.Namespace) *gatherer {
	return &gatherer{keys: decode.New(ns), ledger: vectorized.NewLedgerBuilder(mem), rejections: []projection.Rejection{}}
}

// release gives its memory back.
func (g *gatherer) release() { g.ledger.Release() }

// errShape says that a batch has other columns than the typed table.
var errShape = errors.New("typed batch: columns differ from the schema")

// add takes over all rows of a batch.
func (g *gatherer) add(batch arrow.RecordBatch) error {
	if !batch.Schema().Equal(vectorized.Schema()) {
		return errShape
	}
	t := table{batch}
	for row := range int(batch.NumRows()) {
		var err error
		if t.isNull(vectorized.ColumnRejectReason, row) {
			err = g.accept(t, row)
		} else {
			g.rejections = append(g.rejections, projection.Rejection{
				Partition: t.partition(row), Offset: t.offset(row), Reason: strings.Clone(t.text(vectorized.ColumnRejectReason, row)),
			})
		}
		if err != nil {
			return fmt.Errorf("typed row of partition %d, offset %d: %w", t.partition(row), t.offset(row), err)
		}
	}
	return nil
}

// accept appends an accepted row to the ledger.
func (g *gatherer) accept(t table, row int) error {
	for column := vectorized.ColumnItem; column < vectorized.ColumnRejectReason; column++ {
		if t.isNull(column, row) {
			return fmt.Errorf("%s is null in an accepted record", vectorized.Schema().Field(column).Name)
		}
	}
	item, location := t.text(vectorized.ColumnItem, row), t.text(vectorized.ColumnLocation, row)
	key, ok := g.keys.Key(item, location)
	if !ok {
		return fmt.Errorf("stock key %s is not configured: it was decoded for another namespace", decode.BrokerKey(item, location))
	}
	kind, ok := decode.ParseKind(t.text(vectorized.ColumnKind, row))
	if !ok {
		return fmt.Errorf("kind %q is none", t.text(vectorized.ColumnKind, row))
	}
	return g.ledger.Append(key, t.text(vectorized.ColumnTxnID, row), t.int64(vectorized.ColumnRevision, row), uint8(kind),
		t.timestamp(vectorized.ColumnValidTime, row), t.int64(vectorized.ColumnQty, row))
}

// table reads the columns of a batch whose schema was checked.
type table struct{ batch arrow.RecordBatch }

func (t table) isNull(column, row int) bool { return t.batch.Column(column).IsNull(row) }

func (t table) partition(row int) int32 {
	return t.batch.Column(vectorized.ColumnPartition).(*array.Int32).Value(row)
}

func (t table) offset(row int) int64 { return t.int64(vectorized.ColumnOffset, row) }

func (t table) int64(column, row int) int64 {
	return t.batch.Column(column).(*array.Int64).Value(row)
}

func (t table) timestamp(column, row int) int64 {
	return int64(t.batch.Column(column).(*array.Timestamp).Value(row))
}

func (t table) text(column, row int) string {
	return t.batch.Column(column).(*array.String).Value(row)
}
