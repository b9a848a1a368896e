package pgserver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// settings renders amends.conf.
func (s *Server) settings() string {
	listen := ""
	if s.opts.TCP {
		listen = "127.0.0.1"
	}
	conf := map[string]string{
		"listen_addresses":        listen,
		"port":                    strconv.Itoa(s.port),
		"unix_socket_directories": s.sock,
		"unix_socket_permissions": "0700",
		"max_connections":         "100",
		"shared_buffers":          "128MB",
		"max_wal_size":            "2GB",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"logging_collector":       "off",
	}
	if s.opts.NoSync {
		conf["fsync"] = "off"
		conf["full_page_writes"] = "off"
		conf["synchronous_commit"] = "off"
	}
	maps.Copy(conf, s.opts.Settings)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(conf[name], "'", "''"))
	}
	return b.String()
}

// socketDir returns a folder for the socket that only the server's user may enter: inside Dir where the path is short
// enough for a socket address, else a temporary one.
func (s *Server) socketDir() (string, error) {
	dir := filepath.Join(s.opts.Dir, "socket")
	if len(dir) > maxSocketPath {
		short, err := os.MkdirTemp("/tmp", "amends-pg-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the database socket: %w", err)
		}
		dir = short
	}
	_, err := s.user.prepareDir(dir) // all parents can be passed by now
	return dir, err
}
