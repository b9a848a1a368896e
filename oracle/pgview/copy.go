package pgview

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/verify"
)

var _ verify.Unordered = viewSnapshot{}

// AllBalances implements verify.Unordered: the rows of Balances, as COPY gives them.
func (v viewSnapshot) AllBalances(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return v.copied(ctx, "the view's balances", "balances", "balance", "close")
}

// AllAlerts implements verify.Unordered: the rows of Alerts, as COPY gives them.
func (v viewSnapshot) AllAlerts(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return v.copied(ctx, "the view's alerts", "alerts", "alert", "close, threshold")
}

// copied yields the facts that an SQL view shows, and those of its base table whose key has no name. Where the SQL view is
// the base table's rows under the names of their keys, by definition, the names are put to them here, which spares the
// server a join and most of what it would write.
func (v viewSnapshot) copied(ctx context.Context, what, view, base, columns string) iter.Seq2[compare.Fact, error] {
	return func(yield func(compare.Fact, error) bool) {
		if err := v.copyFacts(ctx, view, base, columns, func(f compare.Fact) bool { return yield(f, nil) }); err != nil {
			yield(compare.Fact{}, fmt.Errorf("read %s: %w", what, err))
		}
	}
}

// copyFacts is copied without its error as an element.
func (v viewSnapshot) copyFacts(ctx context.Context, view, base, columns string, yield func(compare.Fact) bool) error {
	numbers, once, err := v.numbers(ctx, view)
	if err != nil {
		return err
	}
	if once {
		_, err := v.copyQuery(ctx, `SELECT key_id, day, `+columns+` FROM `+table(v.applied.ViewSchema, base)+` WHERE present`, numbers.key, yield)
		return err
	}
	names := namesOf(v.applied.Namespace.Spec.StockKeys)
	wanted, err := v.copyQuery(ctx, v.shown(view, columns), names.key, yield)
	if err == nil && wanted {
		_, err = v.copyQuery(ctx, v.unnamed(base, columns), names.key, yield)
	}
	return err
}

// copyQuery yields the facts of one query and reports whether more are wanted.
func (v viewSnapshot) copyQuery(ctx context.Context, query string, key keyReader, yield func(compare.Fact) bool) (bool, error) {
	c := &copyReader{key: key, yield: yield}
	_, err := v.tx.Conn().PgConn().CopyTo(ctx, c, `COPY (`+query+`) TO STDOUT (FORMAT binary)`)
	switch {
	case c.failed != nil:
		err = c.failed
	case err == nil && !c.ended:
		err = errCopy
	}
	if errors.Is(err, errUnwanted) {
		return false, nil
	}
	return true, err
}

// The binary format of COPY: a signature, flags, an extension that is skipped, rows of counted fields, and a trailer in place
// of a row's count.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHeader    = len(copySignature) + 4 + 4
	copyTrailer   = -1
	// daysBefore is the number of days from 1970-01-01 to 2000-01-01, from where Postgres counts.
	daysBefore = 10_957
)

var (
	errCopy = errors.New("the server's COPY is not of the binary format, or cut off")
	// errRow says that an SQL view shows what no view of ours can.
	errRow = errors.New("a row has another number of columns, or a null, or a value of another type")
	// errUnwanted ends a COPY of which no more rows are wanted.
	errUnwanted = errors.New("no more rows are wanted")
)

// copyReader takes a COPY of facts, which are a key, a day, a close and of alerts a threshold, and yields them. It is an
// io.Writer to which the driver hands messages, of which each need not be a row.
type copyReader struct {
	key   keyReader
	yield func(compare.Fact) bool
	// begun says that the header was read, ended that the trailer was; rest is what is left of the last message.
	begun, ended bool
	rest         []byte
	failed       error
	fact         compare.Fact // of the row that is read
}

// Write implements io.Writer.
func (c *copyReader) Write(message []byte) (int, error) {
	data := message
	if len(c.rest) > 0 {
		c.rest = append(c.rest, message...)
		data = c.rest
	}
	rest, err := c.read(data)
	if err != nil {
		c.failed = err
		return 0, err
	}
	c.rest = append(c.rest[:0], rest...)
	return len(message), nil
}

// read yields the rows that are complete and returns the bytes behind them.
func (c *copyReader) read(data []byte) ([]byte, error) {
	if !c.begun {
		if len(data) < copyHeader {
			return data, nil
		}
		extension := int(binary.BigEndian.Uint32(data[copyHeader-4:]))
		if string(data[:len(copySignature)]) != copySignature || extension != 0 {
			return nil, errCopy
		}
		c.begun, data = true, data[copyHeader:]
	}
	for len(data) >= 2 && !c.ended {
		count := int(int16(binary.BigEndian.Uint16(data)))
		if count == copyTrailer {
			c.ended, data = true, data[2:]
			break
		}
		size, err := c.row(data[2:], count)
		if err != nil {
			return nil, err
		}
		if size < 0 {
			return data, nil
		}
		data = data[2+size:]
	}
	if c.ended && len(data) > 0 {
		return nil, errCopy
	}
	return data, nil
}

// row yields a row and returns its size; -1 where it is not complete yet.
func (c *copyReader) row(data []byte, fields int) (int, error) {
	f := &c.fact
	*f = compare.Fact{}
	at, used, err := c.key(data, f)
	if err != nil || at < 0 {
		return at, err
	}
	const balance, alert = 2, 3
	fields -= used
	if fields != balance && fields != alert {
		return 0, errRow
	}
	var values [alert][]byte
	for i := range fields {
		value, size, err := nextField(data[at:])
		if err != nil || size < 0 {
			return size, err
		}
		values[i], at = value, at+size
	}
	if len(values[0]) != 4 || len(values[1]) != 8 || fields == alert && len(values[2]) != 8 {
		return 0, errRow
	}
	f.Day, f.Close = day32(values[0]), int64(binary.BigEndian.Uint64(values[1]))
	if fields == alert {
		f.Threshold = int64(binary.BigEndian.Uint64(values[2]))
	}
	if !c.yield(*f) {
		return 0, errUnwanted
	}
	return at, nil
}

// nextField is the value at the beginning of data, and its size with its length; -1 where it is not complete yet.
func nextField(data []byte) ([]byte, int, error) {
	if len(data) < 4 {
		return nil, -1, nil
	}
	length := int(int32(binary.BigEndian.Uint32(data)))
	switch {
	case length < 0:
		return nil, 0, errRow
	case len(data)-4 < length:
		return nil, -1, nil
	}
	return data[4 : 4+length], 4 + length, nil
}

// day32 is a date as a number of days since 1970-01-01. Postgres has no date so late that it would not fit.
func day32(value []byte) int32 {
	day := int32(binary.BigEndian.Uint32(value))
	if day == math.MaxInt32 || day == math.MinInt32 {
		return day // infinite, as compare has it
	}
	return day + daysBefore
}

// shown is the statement that reads what users read, through the same SQL view.
func (v viewSnapshot) shown(view, columns string) string {
	return `SELECT item, location, day, ` + columns + ` FROM ` + table(v.applied.ViewSchema, view)
}

// unnamed is the statement that reads the present rows of a base table whose key has no name: the SQL view cannot show them,
// so that reading it alone would not find them.
func (v viewSnapshot) unnamed(base, columns string) string {
	schema := v.applied.ViewSchema
	return `SELECT ''::text, 'key_id ' || b.key_id, day, ` + columns + ` FROM ` + table(schema, base) + ` b
		WHERE present AND NOT EXISTS (SELECT FROM ` + table(schema, "stock_key") + ` k WHERE k.key_id = b.key_id)`
}
