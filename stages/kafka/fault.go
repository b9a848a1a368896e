package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	// ErrUnreachable is wrapped where no broker answers.
	ErrUnreachable = errors.New("no broker answers")
	// ErrCredentials is wrapped where a broker answers but refuses user, password, mechanism or rights.
	ErrCredentials = errors.New("the broker refuses the credentials")
	// ErrClosed is wrapped where something accepts connections and closes them at once, as a broker does that expects
	// TLS or other credentials than it gets, and says no more.
	ErrClosed = errors.New("the broker closes the connection")
	// ErrCertificate is wrapped where the broker's certificate is not trusted or ours is not accepted.
	ErrCertificate = errors.New("the connection cannot be secured")
)

// explain sorts the error of a first contact into the causes a user can do something about.
func explain(err error) error {
	var hostname x509.HostnameError
	var authority x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var first *kgo.ErrFirstReadEOF
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism),
		errors.Is(err, kerr.IllegalSaslState), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case errors.As(err, &hostname), errors.As(err, &authority), errors.As(err, &verification), errors.As(err, &alert),
		errors.As(err, &record):
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.As(err, &first):
		return fmt.Errorf("%w: %w", ErrClosed, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
}
