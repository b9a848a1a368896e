package pgserver

import (
	"fmt"
	"net"
	"strconv"
)

// choosePort returns the wanted port if it is free, or any free one for 0. The error for a port in use wraps
// syscall.EADDRINUSE.
func choosePort(wanted int) (int, error) {
	if wanted == 0 {
		return freePort()
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
	if err != nil {
		return 0, fmt.Errorf("port %d: %w", wanted, err)
	}
	return wanted, l.Close()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find a free port: unexpected address %s", l.Addr())
	}
	return addr.Port, nil
}
