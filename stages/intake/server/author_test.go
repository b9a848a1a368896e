package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
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
	good := "# ours\n\n" + hashed("a", "anna") + "  " + strings.Replace(hashed("b", "ben von b."), " ", "\t", 1)
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

// TestCertificateAuthors: the subject of a verified certificate is the author, every attribute of it; one that was not
// verified, and one without a subject, is nobody.
func TestCertificateAuthors(t *testing.T) {
	named := func(sets ...pkix.RelativeDistinguishedNameSET) *x509.Certificate {
		der, err := asn1.Marshal(pkix.RDNSequence(sets))
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{RawSubject: der}
		var name pkix.RDNSequence
		if _, err := asn1.Unmarshal(der, &name); err != nil {
			t.Fatal(err)
		}
		c.Subject.FillFromRDNSequence(&name)
		return c
	}
	one := func(arc int, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, arc}, Value: value}}
	}
	shop, anna := one(10, "shop"), one(3, "anna")
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{named(shop, anna)}}
	p := Principals{Certificates: true}
	if author, known := p.Author(request); known {
		t.Errorf("an unverified certificate is %s", author)
	}
	seen := map[string]bool{}
	for _, of := range []struct {
		certificate *x509.Certificate
		want        string
	}{
		{named(shop, anna), "CN=anna,O=shop"},
		{named(anna, shop), "O=shop,CN=anna"},
		{named(one(3, "ben"), anna), "CN=anna,CN=ben"},
		{named(anna), "CN=anna"},
		{named(append(slices.Clone(shop), anna...)), "CN=anna+O=shop"},
		{named(one(3, strings.Repeat("x", 200))), ""},
		{named(one(3, strings.Repeat("x", 201))), ""},
	} {
		request.TLS.VerifiedChains = [][]*x509.Certificate{{of.certificate}}
		author, known := p.Author(request)
		if !known || !intake.ValidAuthor(author) || seen[author] || of.want != "" && author != of.want ||
			of.want == "" && !strings.HasPrefix(author, "sha256:") {
			t.Errorf("%q, %t; want %s", author, known, of.want)
		}
		seen[author] = true
	}
	request.TLS.VerifiedChains = [][]*x509.Certificate{{named()}}
	if author, known := p.Author(request); known {
		t.Errorf("a certificate without a subject is %s, as is every other such", author)
	}
	if author, known := (Principals{}).Author(request); known {
		t.Errorf("certificates are not configured: %s", author)
	}
}
