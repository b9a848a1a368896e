package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ErrExposed is wrapped where a listener that others can reach lacks authentication or TLS.
var ErrExposed = errors.New("only loopback is served without authentication and TLS")

// CheckExposure refuses an address, as host:port, that is not loopback's, unless both authentication and TLS are
// configured. A host name but localhost, and no host, count as reachable by others.
func CheckExposure(address string, authenticated, encrypted bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen on %q: want host:port: %w", address, err)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || authenticated && encrypted {
		return nil
	}
	return fmt.Errorf("listen on %s: %w", address, ErrExposed)
}

// The bounds of a connection. An answer may take the commit's patience and the longest wait, one after the other.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 90 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// HTTP returns a server of HTTP/1.1 with these bounds; config is nil for plain text. It is not HTTP/2, because an answer
// that would not be true is left out by ending the connection. What the server itself has to say of a connection goes to
// log.
func HTTP(handler http.Handler, config *tls.Config, log *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, TLSConfig: config, Protocols: protocols, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
