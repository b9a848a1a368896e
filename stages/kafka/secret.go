package kafka

import (
	"fmt"
	"log/slog"
)

// redacted is what every rendering of a Secret shows.
const redacted = "[redacted]"

// Secret is a password. Every way of printing or encoding it shows "[redacted]"; Reveal alone gives the text.
type Secret struct{ text string }

// NewSecret wraps a password.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal returns the password. Call it only where it goes to the broker.
func (s Secret) Reveal() string { return s.text }

// Format implements fmt.Formatter, so that no verb prints the password.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML encoders use.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
