package run

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
	"amends.dev/amends/stages/intake/server"
)

// authority signs certificates into a folder of its own.
type authority struct {
	t    *testing.T
	dir  string
	root *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.sign("root", root)
	return a
}

// file is where a certificate (.pem) or key (.key) is.
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// sign writes NAME.pem and NAME.key; the first call signs the authority itself.
func (a *authority) sign(name string, c *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.next++
	c.SerialNumber, c.NotBefore = big.NewInt(a.next), time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.root, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.root == nil {
		if a.root, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = key
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	a.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

func (a *authority) write(name string, text []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.file(name), text, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// client signs a client's certificate and returns one that presents it.
func (a *authority) client(name string, c *x509.Certificate) *http.Client {
	a.t.Helper()
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	a.sign(name, c)
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return a.trusting(a.root, pair)
}

// trusting is a client that takes a server of the root, with or without certificates of its own.
func (a *authority) trusting(root *x509.Certificate, own ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(root)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots,
		// Whatever the server says it accepts: what it refuses is the point.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(own) == 0 {
				return &tls.Certificate{}, nil
			}
			return &own[0], nil
		},
	}}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// serveTLS serves an intake in memory as the flags say, logging as JSON, and returns host:port.
func serveTLS(t *testing.T, o *intakeOptions, log io.Writer) string {
	t.Helper()
	o.offered, o.maxBody, o.maxUnpublished = string(durability.Published), server.DefaultMaxBody, intake.DefaultBacklog
	p, err := o.settings()
	if err != nil {
		t.Fatal(err)
	}
	w := intaketest.New()
	handler := server.New(server.Options{
		Intake: w.Start(t, w.Options()), Namespace: "shop", Offered: w.Offer, Authors: p.Authors, Now: time.Now, MaxBody: p.MaxBody,
	})
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.HTTP(handler, p.TLS, slog.New(slog.NewJSONHandler(log, nil)))
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// ask sends one request and returns status and body.
func ask(t *testing.T, c *http.Client, method, url, body, token string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.ProtoMajor != 1 {
		t.Errorf("%s %s over %s", method, url, response.Proto)
	}
	return response.StatusCode, string(text), err
}

const kept = `{"request_id":"r","durability_request":{"level":"stored","must_have":true},"transaction":{"txn_id":"t1",` +
	`"stock_key":{"item":"widget","location":"berlin"},"revision":1,"kind":"NEW","valid_time":"2026-01-05T10:00:00Z","qty":5,` +
	`"source_time":"2026-01-05T10:00:00Z"}}`

// TestIntakeOverTLS: over real sockets, with the files that the flags name: a client certificate's subject or a token's
// name is the author, each with requests of its own; without either 401; a certificate of another authority, an expired
// one and one for servers end the handshake; plain text and TLS 1.1 are not served.
func TestIntakeOverTLS(t *testing.T) {
	a, others := newAuthority(t), newAuthority(t)
	a.sign("server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "intake"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	sum := sha256.Sum256([]byte("secret"))
	a.write("tokens.txt", []byte(hex.EncodeToString(sum[:])+" carl\n"))
	log := child.NewLog(t, "the intake")
	address := serveTLS(t, &intakeOptions{
		certificate: a.file("server.pem"), key: a.file("server.key"), clientCA: a.file("root.pem"), tokens: a.file("tokens.txt"),
	}, log)
	url, handle := "https://"+address+"/v1/namespaces/shop/transactions", "https://"+address+"/v1/namespaces/shop/requests/r"
	bare := a.trusting(a.root)
	anna := a.client("anna", &x509.Certificate{Subject: pkix.Name{CommonName: "anna", Organization: []string{"shop"}}})
	ben := a.client("ben", &x509.Certificate{Subject: pkix.Name{CommonName: "ben", Organization: []string{"shop"}}})
	for _, sender := range []struct {
		client        *http.Client
		token, author string
	}{{anna, "", "CN=anna,O=shop"}, {ben, "", "CN=ben,O=shop"}, {bare, "secret", "carl"}} {
		if status, text, err := ask(t, sender.client, http.MethodGet, handle, "", sender.token); status != 404 {
			t.Errorf("%s, before: %d %s %v", sender.author, status, text, err)
		}
		for _, want := range []int{200, 409} {
			if status, text, err := ask(t, sender.client, http.MethodPost, url, kept, sender.token); status != want {
				t.Errorf("%s: %d %s %v", sender.author, status, text, err)
			}
		}
		var entry struct{ Author string }
		status, text, err := ask(t, sender.client, http.MethodGet, handle, "", sender.token)
		if err := errors.Join(err, json.Unmarshal([]byte(text), &entry)); err != nil || status != 200 || entry.Author != sender.author {
			t.Errorf("%s: %d %s %v", sender.author, status, text, err)
		}
	}
	nameless := a.client("nameless", &x509.Certificate{DNSNames: []string{"job.example.org"}})
	for name, c := range map[string]*http.Client{"no certificate": bare, "no subject": nameless} {
		if status, text, err := ask(t, c, http.MethodPost, url, kept, "wrong"); status != 401 || !strings.Contains(text, `"durability":{"requested":"stored","applied":"none"}`) {
			t.Errorf("%s: %d %s %v", name, status, text, err)
		}
	}
	stranger := others.client("stranger", &x509.Certificate{Subject: pkix.Name{CommonName: "anna", Organization: []string{"shop"}}})
	late := a.client("late", &x509.Certificate{Subject: pkix.Name{CommonName: "anna"}, NotAfter: time.Now().Add(-time.Minute)})
	old := a.trusting(a.root)
	for name, c := range map[string]*http.Client{
		"another authority": a.trusting(a.root, own(t, others, "stranger")), "expired": late,
		"for servers": a.trusting(a.root, own(t, a, "server")), "a server that is not trusted": stranger, "TLS 1.1": old,
	} {
		if transport, is := c.Transport.(*http.Transport); is && name == "TLS 1.1" {
			transport.TLSClientConfig.MinVersion, transport.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}
		if status, text, err := ask(t, c, http.MethodGet, handle, "", ""); err == nil {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text, err := ask(t, bare, http.MethodGet, "http://"+address+"/livez", "", ""); err == nil && status != 400 {
		t.Errorf("plain text: %d %s", status, text)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, line := range lines { // what net/http has to say stands in the log as everything else does
		if !json.Valid([]byte(line)) {
			t.Errorf("logged: %s", line)
		}
	}
	if !strings.Contains(log.String(), "TLS handshake error") {
		t.Errorf("%d lines, none of a handshake", len(lines))
	}
}

// own loads a certificate of an authority.
func own(t *testing.T, a *authority, name string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
