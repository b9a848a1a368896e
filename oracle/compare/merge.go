package compare

import (
	"errors"
	"fmt"
	"iter"
)

// ErrUnordered is returned when a sequence is not sorted: its reader or engine is broken, and no comparison of it
// can be relied on.
var ErrUnordered = errors.New("sequence is not sorted")

// merge walks two sorted sequences once, in constant memory, and reports each pair: both non-nil where order finds
// them equal, else one nil. A fact that one side has twice is reported a second time without a partner.
func merge[T any](oracle, view iter.Seq2[T, error], order func(a, b T) int, each func(oracle, view *T)) error {
	nextOracle, stopOracle := iter.Pull2(sorted(oracle, order, "oracle"))
	defer stopOracle()
	nextView, stopView := iter.Pull2(sorted(view, order, "view"))
	defer stopView()

	o, oErr, oOK := nextOracle()
	v, vErr, vOK := nextView()
	for oOK || vOK {
		if err := errors.Join(oErr, vErr); err != nil {
			return err
		}
		side := 0
		switch {
		case !oOK:
			side = 1
		case !vOK:
			side = -1
		default:
			side = order(o, v)
		}
		// The callback gets copies: the variables below are overwritten while it may keep its pointers.
		oCopy, vCopy := o, v
		switch {
		case side < 0:
			each(&oCopy, nil)
		case side > 0:
			each(nil, &vCopy)
		default:
			each(&oCopy, &vCopy)
		}
		if side <= 0 {
			o, oErr, oOK = nextOracle()
		}
		if side >= 0 {
			v, vErr, vOK = nextView()
		}
	}
	return nil
}

// sorted passes a sequence through and ends it with ErrUnordered at the first element below its predecessor.
func sorted[T any](seq iter.Seq2[T, error], order func(a, b T) int, side string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last T
		n := 0
		for v, err := range seq {
			if err == nil && n > 0 && order(last, v) > 0 {
				err = fmt.Errorf("%w: %s element %d (%+v) comes after %+v", ErrUnordered, side, n, v, last)
			}
			if !yield(v, err) || err != nil {
				return
			}
			last = v
			n++
		}
	}
}

// Slice turns a slice into a sequence without errors.
func Slice[T any](s []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range s {
			if !yield(v, nil) {
				return
			}
		}
	}
}
