package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	// DefaultStall is Config.Stall where it is zero.
	DefaultStall = 60 * time.Second
	dialTimeout  = 10 * time.Second
	// One fetch and one partition's share of it bound the memory of a scan, in bytes.
	fetchBytes     = 16 << 20
	partitionBytes = 4 << 20
)

// ErrConfig is wrapped by errors of a configuration that cannot be used.
var ErrConfig = errors.New("invalid broker configuration")

// Config says how to reach a cluster.
type Config struct {
	// Brokers are host:port addresses to start from; at least one.
	Brokers []string
	// TLS is nil for plain text.
	TLS *TLS
	// SASL is nil where the broker asks for no credentials.
	SASL *SASL
	// Stall is how long a history may make no progress; 0 stands for DefaultStall.
	Stall time.Duration
}

// TLS names the files of a secured connection; empty fields stand for the defaults of the system.
type TLS struct {
	// CAFile holds the PEM certificates to trust.
	CAFile string
	// CertFile and KeyFile are a client certificate and its key in PEM; both or neither.
	CertFile, KeyFile string
	// ServerName overrides the host name that the broker's certificate must carry.
	ServerName string
}

// SASL is a user with a password.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string
	User      string
	// Password returns the password; a function, so that printing a Config cannot show it.
	Password func() string
}

// options turns the configuration into client options.
func (c Config) options() ([]kgo.Opt, error) {
	if len(c.Brokers) == 0 {
		return nil, fmt.Errorf("%w: no broker address", ErrConfig)
	}
	opts := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("amends-oracle")}
	if c.TLS == nil {
		opts = append(opts, kgo.Dialer((&net.Dialer{Timeout: dialTimeout}).DialContext))
	} else {
		config, err := c.TLS.load()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(config), kgo.DialTimeout(dialTimeout))
	}
	if c.SASL != nil {
		mechanism, err := c.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

// load reads the files.
func (t *TLS) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: certificates to trust: %w", ErrConfig, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s holds no PEM certificate", ErrConfig, t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%w: client certificate: %w", ErrConfig, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// mechanism is the client library's form of the credentials.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	scramAuth := func(context.Context) (scram.Auth, error) {
		return scram.Auth{User: s.User, Pass: s.Password()}, nil
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			return plain.Auth{User: s.User, Pass: s.Password()}, nil
		}), nil
	case "SCRAM-SHA-256":
		return scram.Sha256(scramAuth), nil
	case "SCRAM-SHA-512":
		return scram.Sha512(scramAuth), nil
	default:
		return nil, fmt.Errorf("%w: SASL mechanism %q; want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", ErrConfig, s.Mechanism)
	}
}
