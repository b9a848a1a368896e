package server

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"amends.dev/amends/stages/intake"
)

// Authors finds out who sends a request. It is safe for concurrent use.
type Authors interface {
	// Author returns the authenticated author, false where there is none.
	Author(r *http.Request) (string, bool)
}

// Local is everybody: no authentication, for loopback only (R32).
type Local struct{}

// Author implements Authors.
func (Local) Author(*http.Request) (string, bool) { return intake.LocalAuthor, true }

// Principals authenticates by client certificate, or by bearer token.
type Principals struct {
	// Tokens are those of bearers; none where it is empty.
	Tokens Tokens
	// Certificates takes the subject of a verified client certificate as the author. The listener must verify them.
	Certificates bool
}

// Author implements Authors. A certificate goes before a token.
func (p Principals) Author(r *http.Request) (string, bool) {
	if p.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return subject(r.TLS.VerifiedChains[0][0].RawSubject)
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return "", false
	}
	return p.Tokens.author(token)
}

// subject is the author's name of a certificate's subject, in DER: the subject as text, each attribute in its place, or a
// digest where that is too long or unprintable. A certificate without a subject names nobody: all such would be one author.
func subject(der []byte) (string, bool) {
	var name pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &name); err != nil || len(rest) > 0 || len(name) == 0 {
		return "", false
	}
	if text := name.String(); intake.ValidAuthor(text) {
		return text, true
	}
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:]), true
}

// token is one bearer token by its SHA-256.
type token struct {
	sum    [sha256.Size]byte
	author string
}

// Tokens are the bearer tokens of all authors, none of them in the clear.
type Tokens []token

// author looks a token up in a time that does not depend on which one it is, or whether it is one.
func (t Tokens) author(text string) (string, bool) {
	sum := sha256.Sum256([]byte(text))
	found := -1
	for i := range t {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t[i].sum[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return t[found].author, true
}

// ReadTokens reads lines of a token's SHA-256 in hexadecimal and its author's name, separated by white space; empty lines
// and those that begin with # say nothing. Errors name the line and never its content.
func ReadTokens(r io.Reader) (Tokens, error) {
	var tokens Tokens
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		digest, author := line, ""
		if space := strings.IndexFunc(line, unicode.IsSpace); space > 0 {
			digest, author = line[:space], strings.TrimSpace(line[space:])
		}
		sum, err := hex.DecodeString(digest)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("line %d: want the SHA-256 of a token, as 64 hexadecimal digits, and the author's name", n)
		}
		if !intake.ValidAuthor(author) {
			return nil, fmt.Errorf("line %d: the author's name must have 1 to %d bytes without control characters", n, intake.AuthorMax)
		}
		one := token{sum: [sha256.Size]byte(sum), author: author}
		for _, other := range tokens {
			if other.sum == one.sum {
				return nil, fmt.Errorf("line %d: the token is there twice", n)
			}
		}
		tokens = append(tokens, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return tokens, nil
}
