package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

var (
	// ErrUnreachable is wrapped where no broker answers.
	ErrUnreachable = errors.New("no broker answers")
	// ErrCredentials is wrapped where a broker answers but refuses user, password, mechanism or rights.
	ErrCredentials = errors.New("the broker refuses the credentials")
	// ErrCertificate is wrapped where the broker's certificate is not trusted or ours is not accepted.
	ErrCertificate = errors.New("the connection cannot be secured")
)

// explain sorts the error of a first contact into the causes a user can do something about.
func explain(err error) error {
	var hostname x509.HostnameError
	var authority x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism),
		errors.Is(err, kerr.IllegalSaslState), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case errors.As(err, &hostname), errors.As(err, &authority), errors.As(err, &verification), errors.As(err, &alert):
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
}
