package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"amends.dev/amends/stages/intake"
)

// TestCheckExposure: an address that others can reach needs authentication and TLS, both.
func TestCheckExposure(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "example.org:1": false, "127.0.0.1.example.org:1": false,
	} {
		for n := range 4 {
			authenticated, encrypted := n&1 != 0, n&2 != 0
			err := CheckExposure(address, authenticated, encrypted)
			if served := loopback || authenticated && encrypted; served != (err == nil) || !served && !errors.Is(err, ErrExposed) {
				t.Errorf("%s, authentication %t, TLS %t: %v", address, authenticated, encrypted, err)
			}
		}
	}
	if err := CheckExposure("8480", true, true); err == nil || errors.Is(err, ErrExposed) {
		t.Errorf("no port: %v", err)
	}
}

// TestReadTokens: strict, naming the line and never what stands there.
func TestReadTokens(t *testing.T) {
	good := "# ours\n\n" + hashed("a", "anna") + "  " + hashed("b", "ben von b.")
	tokens, err := ReadTokens(strings.NewReader(good))
	if err != nil || len(tokens) != 2 {
		t.Fatalf("%d, %v", len(tokens), err)
	}
	for token, want := range map[string]string{"a": "anna", "b": "ben von b.", "c": "", "": ""} {
		if author, known := tokens.author(token); author != want || known != (want != "") {
			t.Errorf("%q is %q, %t", token, author, known)
		}
	}
	for name, text := range map[string]string{
		"clear text": "hunter2 anna", "no author": strings.Repeat("ab", 32), "short": "abcd anna", "control": strings.TrimSpace(hashed("a", "an\x01na")),
		"long author": hashed("a", strings.Repeat("x", intake.AuthorMax+1)), "twice": hashed("a", "anna") + hashed("a", "ben"),
	} {
		if _, err := ReadTokens(strings.NewReader(text)); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCertificateAuthors: the subject of a verified certificate is the author; one that was not verified is nobody.
func TestCertificateAuthors(t *testing.T) {
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "anna", Organization: []string{"shop"}}}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	p := Principals{Certificates: true}
	if author, known := p.Author(request); known {
		t.Errorf("an unverified certificate is %s", author)
	}
	request.TLS.VerifiedChains = [][]*x509.Certificate{{certificate}}
	if author, known := p.Author(request); !known || author != "CN=anna,O=shop" {
		t.Errorf("%s, %t", author, known)
	}
	if author, known := (Principals{}).Author(request); known {
		t.Errorf("certificates are not configured: %s", author)
	}
	certificate.Subject.CommonName = strings.Repeat("x", 200)
	if author, known := p.Author(request); !known || !intake.ValidAuthor(author) || !strings.HasPrefix(author, "sha256:") {
		t.Errorf("a long subject: %s, %t", author, known)
	}
}
