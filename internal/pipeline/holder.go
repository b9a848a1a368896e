package pipeline

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
)

// NewHolder names this process in leases: host, process ID and random bits, because process IDs come again.
func NewHolder() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(random[:])), nil
}
