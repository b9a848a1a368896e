package report

import (
	"fmt"
	"io"
	"strings"
)

// Format is a rendering of a report.
type Format string

// The formats. All of them show the same value.
const (
	FormatText     Format = "text"
	FormatJSON     Format = "json"
	FormatMarkdown Format = "markdown"
	FormatJUnit    Format = "junit"
	FormatHTML     Format = "html"
)

// Formats are the names of all formats.
func Formats() []string {
	return []string{string(FormatText), string(FormatJSON), string(FormatMarkdown), string(FormatJUnit), string(FormatHTML)}
}

// ParseFormat returns the format of a name. The error lists those there are.
func ParseFormat(name string) (Format, error) {
	for _, known := range Formats() {
		if name == known {
			return Format(name), nil
		}
	}
	return "", fmt.Errorf("want one of %s, got %q", strings.Join(Formats(), ", "), name)
}

// Render writes the report in a format. limit bounds the listed rejections, conflicts and out-of-domain days of text,
// JUnit and HTML (0: all); JSON has everything, and Markdown as much as fits a comment.
func Render(w io.Writer, r *Report, format Format, limit int) error {
	switch format {
	case FormatText:
		return Text(w, r, limit)
	case FormatJSON:
		return JSON(w, r)
	case FormatMarkdown:
		return Markdown(w, r)
	case FormatJUnit:
		return JUnit(w, r, limit)
	case FormatHTML:
		return HTML(w, r, limit)
	}
	return fmt.Errorf("unknown report format %q", format)
}
