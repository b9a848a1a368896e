package kafka

import (
	"fmt"
	"log/slog"
)

// redacted is what every rendering of a Secret shows.
const redacted = "[redacted]"

// Secret is a password, or a text that may hold one. Every way of printing or encoding it hides it; Reveal alone gives
// the text. Two secrets of the same text are not equal.
type Secret struct {
	// text is behind a pointer because fmt does not call methods of a value in an unexported field, and would print a
	// string there.
	text *string
}

// NewSecret wraps a password.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal returns the text, empty for the zero value. Call it only where it goes to the server.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter, so that no verb prints the password.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML encoders use.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
