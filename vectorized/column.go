package vectorized

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sumType is the type of day sums and closes. Its 128 bits hold any sum of 2^64 values of 64 bits (R09).
var sumType = &arrow.Decimal128Type{Precision: 38}

// column is an array under construction: zeroed values in allocator memory, filled through a slice.
type column[T arrow.FixedWidthType] struct {
	values []T
	buffer *memory.Buffer
}

// newColumn is a column of n zeros.
func newColumn[T arrow.FixedWidthType](mem memory.Allocator, n int) column[T] {
	buffer := memory.NewResizableBuffer(mem)
	buffer.Resize(n * int(reflect.TypeFor[T]().Size()))
	values := arrow.GetData[T](buffer.Bytes())
	clear(values)
	return column[T]{values, buffer}
}

// data turns the first n values into array data and gives the buffer away.
func (c column[T]) data(dataType arrow.DataType, n int) *array.Data {
	defer c.buffer.Release()
	return array.NewData(dataType, n, []*memory.Buffer{nil, c.buffer}, nil, 0, 0)
}

// finish makes an array of the first n values.
func finish[T arrow.FixedWidthType, A any](c column[T], dataType arrow.DataType, n int, wrap func(arrow.ArrayData) A) A {
	data := c.data(dataType, n)
	defer data.Release()
	return wrap(data)
}

// uint32s makes a Uint32 array of the first n values.
func uint32s(c column[uint32], n int) *array.Uint32 {
	return finish(c, arrow.PrimitiveTypes.Uint32, n, array.NewUint32Data)
}

// int32s makes an Int32 array of all values.
func int32s(c column[int32]) *array.Int32 {
	return finish(c, arrow.PrimitiveTypes.Int32, len(c.values), array.NewInt32Data)
}

// sums makes a 128-bit array of the first n values.
func sums(c column[decimal128.Num], n int) *array.Decimal128 {
	return finish(c, sumType, n, array.NewDecimal128Data)
}

// mask makes a Boolean array of n values.
func mask(mem memory.Allocator, n int, of func(i int) bool) *array.Boolean {
	b := array.NewBooleanBuilder(mem)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		b.UnsafeAppend(of(i))
	}
	return b.NewBooleanArray()
}
