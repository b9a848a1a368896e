package generate

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of the records, in millionths: 150,000 is 0.15. It is exact, where a float is not.
type Share int64

// Whole is the share of everything.
const Whole Share = 1_000_000

// ParseShare reads a decimal fraction from 0 to 1 with at most six digits after the point, such as 0.15.
func ParseShare(s string) (Share, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole + fraction
	if whole == "" || len(fraction) > 6 || strings.HasSuffix(s, ".") || len(digits) > 12 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("want a fraction from 0 to 1 such as 0.15, got %q", s)
	}
	n, err := strconv.ParseInt(whole+fraction+"000000"[len(fraction):], 10, 64)
	if err != nil || Share(n) > Whole {
		return 0, fmt.Errorf("want a fraction from 0 to 1 such as 0.15, got %q", s)
	}
	return Share(n), nil
}

// Set parses a flag's value; with String and Type it makes a Share a flag of the command line.
func (s *Share) Set(text string) error {
	parsed, err := ParseShare(text)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// String renders the share as ParseShare reads it.
func (s Share) String() string {
	fraction := strings.TrimRight(fmt.Sprintf("%06d", int64(s%Whole)), "0")
	if fraction == "" {
		return strconv.FormatInt(int64(s/Whole), 10)
	}
	return strconv.FormatInt(int64(s/Whole), 10) + "." + fraction
}

// Type names the kind of value in help texts.
func (s Share) Type() string { return "fraction" }

// of returns the share of a count, rounded down.
func (s Share) of(count int64) int64 {
	return count/int64(Whole)*int64(s) + count%int64(Whole)*int64(s)/int64(Whole)
}
