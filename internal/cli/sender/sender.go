// Package sender is what the verbs that send to an intake share: where it is, as whom they send, and the HTTP client.
package sender

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
)

// DefaultURL is where run intake listens by default.
const DefaultURL = "http://127.0.0.1:8480"

// Flags are the flags of one verb.
type Flags struct {
	url, namespace, tokenFile, ca, certificate, key string
	cmd                                             *cobra.Command
}

// Register declares them.
func Register(cmd *cobra.Command) *Flags {
	f := &Flags{cmd: cmd}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", DefaultURL, "the intake, as http://host:port or https://host:port [AMENDS_INTAKE_URL]")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace that the intake serves")
	flags.StringVar(&f.tokenFile, "token-file", "", "file of the bearer token; or the token itself in AMENDS_INTAKE_TOKEN")
	flags.StringVar(&f.ca, "ca", "", "file of the certificates to trust, instead of the system's")
	flags.StringVar(&f.certificate, "cert", "", "file of a client certificate")
	flags.StringVar(&f.key, "key", "", "file of the client certificate's key")
	return f
}

// Target is an intake to send to. It shows no token when printed.
type Target struct {
	// URL has no path; Namespace is in it.
	URL, Namespace string
	HTTP           *http.Client
	token          string
}

// Token is the bearer token, empty where there is none.
func (t *Target) Token() string { return t.token }

// String shows where it is.
func (t *Target) String() string { return t.URL }

// GoString shows where it is.
func (t *Target) GoString() string { return t.URL }

// Resolve reads flags, files and environment. conns bounds the idle connections that are kept. Errors are of usage.
func (f *Flags) Resolve(a *app.App, conns int) (*Target, error) {
	if value := a.Getenv("AMENDS_INTAKE_URL"); value != "" && !f.cmd.Flags().Changed("url") {
		f.url = value
	}
	parsed, err := url.Parse(f.url)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || strings.Trim(parsed.Path, "/") != "" || parsed.User != nil {
		return nil, fmt.Errorf("--url %s: want http://host:port or https://host:port", f.url)
	}
	if f.namespace == "" {
		return nil, errors.New("no namespace given; set -n")
	}
	t := &Target{URL: strings.TrimSuffix(f.url, "/"), Namespace: f.namespace, token: a.Getenv("AMENDS_INTAKE_TOKEN")}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		t.token = strings.TrimSpace(string(text))
	}
	config, err := f.tls()
	if err != nil {
		return nil, err
	}
	t.HTTP = &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, MaxIdleConns: conns, MaxIdleConnsPerHost: conns,
	}}
	return t, nil
}

func (f *Flags) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca: %s holds no PEM certificate", f.ca)
		}
	}
	if (f.certificate == "") != (f.key == "") {
		return nil, errors.New("--cert and --key come together")
	}
	if f.certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
