package pgview

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/verify"
)

var _ verify.Unordered = viewSnapshot{}

// AllBalances implements verify.Unordered: the rows of Balances, as COPY gives them.
func (v viewSnapshot) AllBalances(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return v.copied(ctx, "the view's balances", v.shown("balances", "close"), v.unnamed("balance", "close"))
}

// AllAlerts implements verify.Unordered: the rows of Alerts, as COPY gives them.
func (v viewSnapshot) AllAlerts(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return v.copied(ctx, "the view's alerts", v.shown("alerts", "close, threshold"), v.unnamed("alert", "close, threshold"))
}

// copied yields the facts of queries, one after the other.
func (v viewSnapshot) copied(ctx context.Context, what string, queries ...string) iter.Seq2[compare.Fact, error] {
	return func(yield func(compare.Fact, error) bool) {
		names := namesOf(v.applied.Namespace.Spec.StockKeys)
		for _, query := range queries {
			c := &copyReader{names: names, yield: yield}
			_, err := v.tx.Conn().PgConn().CopyTo(ctx, c, `COPY (`+query+`) TO STDOUT (FORMAT binary)`)
			switch {
			case c.unwanted:
				return
			case c.failed != nil:
				err = c.failed
			case err == nil && !c.ended:
				err = errCopy
			}
			if err != nil {
				yield(compare.Fact{}, fmt.Errorf("read %s: %w", what, err))
				return
			}
		}
	}
}

// names finds stock keys by item and location as COPY writes them: each with its length before it, so that no two keys are
// the same bytes.
type names map[string]int32

// namesOf numbers the configured keys.
func namesOf(keys []manifests.StockKey) names {
	all := make(names, len(keys))
	for i := range keys {
		all[string(appendText(appendText(nil, keys[i].Item), keys[i].Location))] = int32(i)
	}
	return all
}

// appendText appends a text as COPY writes it.
func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...) //nolint:gosec // names have at most 256 bytes
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

// copyReader takes a COPY of facts, item, location, day, close and of alerts threshold, and yields them. It is an io.Writer
// to which the driver hands messages, of which each need not be a row.
type copyReader struct {
	names names
	yield func(compare.Fact, error) bool
	// begun says that the header was read, ended that the trailer was; rest is what is left of the last message.
	begun, ended bool
	rest         []byte
	unwanted     bool
	failed       error
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
		c.unwanted, c.failed = errors.Is(err, errUnwanted), err
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
	const balance, alert = 4, 5
	if fields != balance && fields != alert {
		return 0, errRow
	}
	var values [alert][]byte
	at, named := 0, 0
	for i := range fields {
		if len(data) < at+4 {
			return -1, nil
		}
		length := int(int32(binary.BigEndian.Uint32(data[at:])))
		at += 4
		if length < 0 {
			return 0, errRow
		}
		if len(data) < at+length {
			return -1, nil
		}
		values[i] = data[at : at+length]
		at += length
		if i == 1 {
			named = at
		}
	}
	if len(values[2]) != 4 || len(values[3]) != 8 || fields == alert && len(values[4]) != 8 {
		return 0, errRow
	}
	f := compare.Fact{Day: day32(values[2]), Close: int64(binary.BigEndian.Uint64(values[3]))}
	if fields == alert {
		f.Threshold = int64(binary.BigEndian.Uint64(values[4]))
	}
	var known bool
	if f.Key, known = c.names[string(data[:named])]; !known {
		f.Key, f.Item, f.Location = -1, string(values[0]), string(values[1])
	}
	if !c.yield(f, nil) {
		return 0, errUnwanted
	}
	return at, nil
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
