package scratch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errCut is what a connection says that was cut.
var errCut = errors.New("connection cut before COMMIT")

// wires are the connections of one process.
type wires struct {
	mu    sync.Mutex
	conns []net.Conn
	// armed says that the next COMMIT is not sent; cut, that one was not.
	armed, cut bool
}

// configure makes a pool connect over wires.
func (w *wires) configure(config *pgxpool.Config) {
	config.ConnConfig.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.conns = append(w.conns, conn)
		return &wire{Conn: conn, wires: w}, nil
	}
}

// arm cuts the connection of the next COMMIT.
func (w *wires) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.cut = true, false
}

// disarm reports whether a connection was cut.
func (w *wires) disarm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	return w.cut
}

// cutAll cuts everything.
func (w *wires) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		_ = conn.Close() // it may be closed already
	}
}

// take reports whether this COMMIT is the one to be cut.
func (w *wires) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return false
	}
	w.armed, w.cut = false, true
	return true
}

// wire is one connection. It reads what is sent over it: COMMIT goes out in one write with what is committed, as a
// prepared statement, or as a simple query. Like any connection it has one writer.
type wire struct {
	net.Conn
	wires *wires
	// commit is the name under which COMMIT was prepared; nil where it was not.
	commit []byte
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	at := w.commitAt(b)
	if at < 0 || !w.wires.take() {
		return w.Conn.Write(b)
	}
	n, err := w.Conn.Write(b[:at])
	return n, errors.Join(errCut, err, w.Close())
}

// commitAt returns where in b, whole messages of the protocol, COMMIT begins to take effect; -1 where it does not.
func (w *wire) commitAt(b []byte) int {
	for at := 0; at+5 <= len(b); {
		end := at + 1 + int(binary.BigEndian.Uint32(b[at+1:]))
		if end > len(b) || end <= at+4 {
			return -1
		}
		parts := bytes.SplitN(b[at+5:end], []byte{0}, 3)
		switch {
		case b[at] == 'Q' && bytes.EqualFold(parts[0], []byte("commit")):
			return at
		case b[at] == 'P' && len(parts) == 3 && bytes.EqualFold(parts[1], []byte("commit")):
			w.commit = bytes.Clone(parts[0])
		case b[at] == 'B' && len(parts) == 3 && w.commit != nil && bytes.Equal(parts[1], w.commit):
			return at
		}
		at = end
	}
	return -1
}
