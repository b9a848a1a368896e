package kafka

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

// dialTimeout bounds one attempt to connect to one broker.
const dialTimeout = 10 * time.Second

// Config says how to reach a cluster. It holds no topic. The zero value of TLS and SASL means a plain connection.
type Config struct {
	// Brokers are host:port addresses to start from; at least one.
	Brokers []string
	// TLS is nil for plain text.
	TLS *TLS
	// SASL is nil where the broker asks for no credentials.
	SASL *SASL
}

// TLS says how to check the broker's certificate and which one to present.
type TLS struct {
	// CAFile holds the PEM certificates to trust; empty means those of the system.
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
	// User is the user's name.
	User string
	// Password never shows when printed.
	Password Secret
}

// ErrConfig is wrapped by errors of a configuration that cannot be used, before any connection is tried.
var ErrConfig = errors.New("invalid broker configuration")

// options turns a configuration into client options.
func (c Config) options() ([]kgo.Opt, error) {
	if len(c.Brokers) == 0 {
		return nil, fmt.Errorf("%w: no broker address", ErrConfig)
	}
	opts := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("amends"), kgo.SoftwareNameAndVersion("amends", "1")}
	if c.TLS == nil {
		opts = append(opts, kgo.Dialer((&net.Dialer{Timeout: dialTimeout}).DialContext))
	} else {
		config, err := c.TLS.config()
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

// client makes a client; extra options come last and so win.
func (c Config) client(extra ...kgo.Opt) (*kgo.Client, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return client, nil
}

func (t *TLS) config() (*tls.Config, error) {
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

func (s *SASL) mechanism() (sasl.Mechanism, error) {
	scramAuth := func(context.Context) (scram.Auth, error) {
		return scram.Auth{User: s.User, Pass: s.Password.Reveal()}, nil
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			return plain.Auth{User: s.User, Pass: s.Password.Reveal()}, nil
		}), nil
	case "SCRAM-SHA-256":
		return scram.Sha256(scramAuth), nil
	case "SCRAM-SHA-512":
		return scram.Sha512(scramAuth), nil
	default:
		return nil, fmt.Errorf("%w: SASL mechanism %q; want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", ErrConfig, s.Mechanism)
	}
}
