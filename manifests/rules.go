package manifests

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the fields of a manifest. They are part of semantics version 1.
const (
	// NameLengthMax bounds metadata.name, in characters: Postgres cuts identifiers at 63 bytes (R04).
	NameLengthMax = 40
	// PartitionsMax bounds the partition count of each topic.
	PartitionsMax = 10000
	// MaxRecordBytesMax bounds spec.source.maxRecordBytes: what quarantine keeps of a record (R06).
	MaxRecordBytesMax = 1 << 20
	// KeyPartBytesMax bounds item and location, in bytes.
	KeyPartBytesMax = 128
	// StockKeysMax bounds the number of stock keys of one namespace.
	StockKeysMax = 10_000_000
)

// The checks below return what is wrong with a value, or "".

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	topicName    = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)
	sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func checkName(s string) string {
	if len(s) > NameLengthMax || !dnsLabel.MatchString(s) {
		return fmt.Sprintf("want a DNS label (a-z, 0-9 and inner hyphens) of 1 to %d characters, got %s", NameLengthMax, quote(s))
	}
	return ""
}

// checkTopic applies Kafka's own rule for topic names.
func checkTopic(s string) string {
	const lengthMax = 249
	switch {
	case s == "." || s == "..":
		return fmt.Sprintf("a topic cannot be named %s", quote(s))
	case len(s) > lengthMax:
		return fmt.Sprintf("want a topic name of at most %d characters, got %d", lengthMax, len(s))
	case !topicName.MatchString(s):
		return fmt.Sprintf("want a topic name of a-z, A-Z, 0-9, '.', '_' and '-', got %s", quote(s))
	}
	return ""
}

func checkTopicsDiffer(source, output string) string {
	if source == output {
		return fmt.Sprintf("source and output are the same topic %s; they must differ", quote(source))
	}
	return ""
}

func checkKeyPart(s string) string {
	switch {
	case s == "":
		return fmt.Sprintf("want 1 to %d bytes, got an empty string", KeyPartBytesMax)
	case len(s) > KeyPartBytesMax:
		return fmt.Sprintf("want 1 to %d bytes, got %d", KeyPartBytesMax, len(s))
	case !utf8.ValidString(s):
		return fmt.Sprintf("want valid UTF-8, got %s", quote(s))
	case strings.Contains(s, "\x00"):
		return fmt.Sprintf("the character U+0000 is not allowed, got %s", quote(s))
	}
	return ""
}

func checkSHA256(s string) string {
	if !sha256Digits.MatchString(s) {
		return fmt.Sprintf("want 64 lower-case hexadecimal digits, got %s", quote(s))
	}
	return ""
}

// checkOneOf accepts exactly one constant value.
func checkOneOf(want string) func(string) string {
	return func(s string) string {
		if s != want {
			return fmt.Sprintf("want %q, got %s", want, quote(s))
		}
		return ""
	}
}

// checkCount is for integers from 1 to high that are not read from text.
func checkCount(v, high int64) string {
	if v < 1 || v > high {
		return fmt.Sprintf("want a whole number from 1 to %d, got %d", high, v)
	}
	return ""
}

// parseInteger reads a decimal literal within [low, high]: optional minus, no leading zeros, nothing else (B116).
func parseInteger(s string, low, high int64) (int64, string) {
	digits := strings.TrimPrefix(s, "-")
	switch {
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return 0, fmt.Sprintf("want a whole number, got %s", quote(s))
	case len(digits) > 1 && digits[0] == '0':
		return 0, fmt.Sprintf("want a whole number without leading zeros, got %s", quote(s))
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < low || v > high {
		return 0, fmt.Sprintf("want a whole number from %d to %d, got %s", low, high, quote(s))
	}
	return v, ""
}
