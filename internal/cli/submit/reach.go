package submit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"amends.dev/amends/internal/submission"
)

// patience is how many seconds a server may be away before the first request. One that answered once is waited for without
// end, unless --attempts says otherwise: what was sent by then may be kept or not.
const patience = 30

// reach waits until the server answers, whatever it says. What it waits for it says once, at the first failure.
func (o *options) reach(ctx context.Context, client *submission.Client) error {
	tries := patience + 1
	if o.attempts > 0 {
		tries = min(tries, o.attempts)
	}
	for try := 1; ; try++ {
		_, err := client.Find(ctx, "reachable")
		var away *url.Error
		switch {
		case ctx.Err() != nil && try == 1:
			return fmt.Errorf("nothing was sent: %w", ctx.Err())
		case !errors.As(err, &away):
			return nil
		case hopeless(err):
			return fmt.Errorf("nothing was sent: %w; name with --ca the certificates to trust, with --cert and --key those of your own, with --url the right scheme and name", away)
		case try == tries:
			return fmt.Errorf("nothing was sent: the intake does not answer: %w; start one with amendsctl run intake, or name another with --url", away)
		case try == 1:
			_, _ = fmt.Fprintf(o.app.Stderr, "waiting for %s: %v\n", client.URL, away.Err) // a notice only
		}
		if stopped := client.Sleep(ctx, time.Second); stopped != nil {
			return fmt.Errorf("nothing was sent: the intake did not answer: %w: %w", away, stopped)
		}
	}
}

// hopeless reports whether an exchange failed on what no waiting mends: certificates, or plain text against TLS.
func hopeless(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var refused tls.AlertError
	var plain tls.RecordHeaderError
	return errors.As(err, &untrusted) || errors.As(err, &refused) || errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch)
}
