package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// column reads the values of one column of a row group in order, a page at a time. Numbers stay where the page has them;
// texts are copied, a page's worth at once.
type column struct {
	pages parquet.Pages
	page  parquet.Page
	// One of these holds the values of the page, by the column's type: those from at on are still to be read, there are n.
	small []int32
	large []int64
	bits  []byte
	texts []string
	at, n int
	// expanded is the memory of numbers that the page has as places in a dictionary.
	expanded []int32
}

func (c *column) int32(i int) int32  { return c.small[c.at+i] }
func (c *column) int64(i int) int64  { return c.large[c.at+i] }
func (c *column) text(i int) string  { return c.texts[c.at+i] }
func (c *column) bytes(i int) []byte { return []byte(c.texts[c.at+i]) }
func (c *column) bool(i int) bool    { return c.bits[(c.at+i)/8]>>((c.at+i)%8)&1 == 1 }

// left is how many values can be read at once, 1 or more; io.EOF after the last.
func (c *column) left() (int, error) {
	for c.at == c.n {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	return c.n - c.at, nil
}

// next goes on to the next page.
func (c *column) next() error {
	c.release()
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.page, c.at, c.n = page, 0, int(page.NumValues())
	values, dictionary := page.Data(), page.Dictionary()
	found, err := 0, nil
	switch kind := page.Type().Kind(); kind {
	case parquet.Boolean:
		c.bits = values.Boolean()
		found = 8 * len(c.bits)
	case parquet.Int32:
		c.small, err = c.numbers(&values, dictionary)
		found = len(c.small)
	case parquet.Int64:
		if dictionary != nil {
			return errors.New("a dictionary of 64-bit numbers")
		}
		c.large = values.Int64()
		found = len(c.large)
	case parquet.ByteArray:
		c.texts, err = appendTexts(c.texts[:0], &values, dictionary)
		found = len(c.texts)
	default:
		err = fmt.Errorf("values of type %s", kind)
	}
	if err == nil && found < c.n {
		err = fmt.Errorf("%d values in a page of %d", found, c.n)
	}
	return err
}

// release gives the page back, whose values are not read any more.
func (c *column) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.at, c.n = nil, 0, 0
}

// close ends the reading.
func (c *column) close() {
	if c.pages != nil {
		c.release()
		_ = c.pages.Close() // it was only read
	}
}

// errCode is a place outside its dictionary.
var errCode = errors.New("a value is outside its dictionary")

// numbers are the values of a page, looked up where it has places in a dictionary.
func (c *column) numbers(values *encoding.Values, dictionary parquet.Dictionary) ([]int32, error) {
	if dictionary == nil {
		return values.Int32(), nil
	}
	list := dictionary.Page().Data()
	entries := list.Int32()
	c.expanded = c.expanded[:0]
	for _, code := range values.Int32() {
		if uint(code) >= uint(len(entries)) {
			return nil, errCode
		}
		c.expanded = append(c.expanded, entries[code])
	}
	return c.expanded, nil
}

// appendTexts appends the values of a page, which share one copy of its text.
func appendTexts(to []string, values *encoding.Values, dictionary parquet.Dictionary) ([]string, error) {
	if dictionary == nil {
		data, offsets := values.ByteArray()
		text := string(data)
		for i := 1; i < len(offsets); i++ {
			to = append(to, text[offsets[i-1]:offsets[i]])
		}
		return to, nil
	}
	list := dictionary.Page().Data()
	entries, err := appendTexts(nil, &list, nil)
	for _, code := range values.Int32() {
		if uint(code) >= uint(len(entries)) {
			return nil, errCode
		}
		to = append(to, entries[code])
	}
	return to, err
}

// group reads the columns of a row group side by side.
type group []column

// open begins a row group.
func (g group) open(rows parquet.RowGroup) {
	for i, chunk := range rows.ColumnChunks() {
		g[i].pages = chunk.Pages()
	}
}

// batch is how many rows all columns have at hand, up to a number.
func (g group) batch(limit int64) (n int, err error) {
	for i := range g {
		left, err := g[i].left()
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("column %d ends early", i)
		}
		if err != nil {
			return 0, fmt.Errorf("column %d: %w", i, err)
		}
		limit = min(limit, int64(left))
	}
	return int(limit), nil
}

// advance goes on by so many rows.
func (g group) advance(n int) {
	for i := range g {
		g[i].at += n
	}
}

// finish checks that no column has more values than the group has rows.
func (g group) finish() error {
	for i := range g {
		if _, err := g[i].left(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("column %d goes on behind the last row: %w", i, err)
		}
	}
	return nil
}

// close ends the reading of all columns.
func (g group) close() {
	for i := range g {
		g[i].close()
	}
}
