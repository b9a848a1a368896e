package postgres_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// cutMode says where a connection breaks around its next COMMIT.
type cutMode int32

const (
	cutNever cutMode = iota
	// cutUnsent: nothing of what is committed was sent.
	cutUnsent
	// cutBefore: everything was sent but COMMIT.
	cutBefore
	// cutDuring: COMMIT is sent, and the connection is gone before the answer.
	cutDuring
	// cutAfter: the server has answered, and the answer is lost.
	cutAfter
	// cutHold: everything was sent but COMMIT, which waits to be released.
	cutHold
)

var errCut = errors.New("connection cut")

// cutter cuts connections at a COMMIT, once for each time that it is armed.
type cutter struct {
	mode             atomic.Int32
	reached, release chan struct{}
}

func (c *cutter) arm(mode cutMode) { c.mode.Store(int32(mode)) }

// hold makes the next COMMIT wait: reached is closed when it would be sent, and it is once release is closed.
func (c *cutter) hold() (reached <-chan struct{}, release chan<- struct{}) {
	c.reached, c.release = make(chan struct{}), make(chan struct{})
	c.arm(cutHold)
	return c.reached, c.release
}

func (c *cutter) configure(config *pgxpool.Config) {
	config.ConnConfig.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		return &cutConn{Conn: conn, cutter: c}, nil
	}
}

// cutConn reads what it sends: COMMIT goes out in the same round trip as what is committed, as a prepared statement.
type cutConn struct {
	net.Conn
	cutter *cutter
	// commit is the name under which COMMIT was prepared.
	commit []byte
}

// commitAt returns where in b, whole messages of the protocol, COMMIT is bound; -1 where it is not.
func (c *cutConn) commitAt(b []byte) int {
	for at := 0; at+5 <= len(b); {
		end := at + 1 + int(binary.BigEndian.Uint32(b[at+1:]))
		if end > len(b) {
			return -1
		}
		parts := bytes.SplitN(b[at+5:end], []byte{0}, 3)
		switch {
		case b[at] == 'P' && len(parts) == 3 && string(parts[1]) == "commit":
			c.commit = bytes.Clone(parts[0])
		case b[at] == 'B' && len(parts) == 3 && c.commit != nil && bytes.Equal(parts[1], c.commit):
			return at
		}
		at = end
	}
	return -1
}

// Write implements net.Conn.
func (c *cutConn) Write(b []byte) (int, error) {
	at := c.commitAt(b)
	if at < 0 {
		return c.Conn.Write(b)
	}
	switch cutMode(c.cutter.mode.Swap(int32(cutNever))) {
	case cutUnsent:
		_ = c.Close()
		return 0, errCut
	case cutBefore:
		n, err := c.Conn.Write(b[:at])
		_ = c.Close()
		return n, errors.Join(errCut, err)
	case cutDuring:
		n, err := c.Conn.Write(b)
		_ = c.Close()
		return n, err
	case cutAfter:
		n, err := c.Conn.Write(b)
		var answer []byte
		for err == nil && !bytes.Contains(answer, []byte("Z\x00\x00\x00\x05I")) { // ready, outside of any transaction
			part := make([]byte, 4096)
			var read int
			read, err = c.Read(part)
			answer = append(answer, part[:read]...)
		}
		_ = c.Close()
		return n, err
	case cutHold:
		n, err := c.Conn.Write(b[:at])
		if err != nil {
			return n, err
		}
		close(c.cutter.reached)
		<-c.cutter.release
		m, err := c.Conn.Write(b[at:])
		return n + m, err
	default:
		return c.Conn.Write(b)
	}
}
