package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// ErrHeld is wrapped where another process uses the folder.
var ErrHeld = errors.New("folder is in use by another process")

// Broker is a running embedded broker.
type Broker struct {
	cluster   *kfake.Cluster
	addresses []string
	lock      *os.File
	once      sync.Once
}

// Start locks the folder, which is made where it is missing, and starts a broker on 127.0.0.1 at port; port 0 takes a
// free one. An error wraps ErrHeld where the folder is in use; a port in use wraps the system's error.
func Start(folder string, port int) (*Broker, error) {
	data := filepath.Join(folder, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	lock, err := lockFile(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("embedded broker on %s: %w", folder, err)
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(port),
		kfake.DataDir(data),
		kfake.SyncWrites(),
		kfake.GroupMinSessionTimeout(0),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded broker on %s, port %d: %w", folder, port, err), lock.Close())
	}
	return &Broker{cluster: cluster, addresses: cluster.ListenAddrs(), lock: lock}, nil
}

// Addresses are host:port pairs to connect to; after Stop those it had.
func (b *Broker) Addresses() []string { return slices.Clone(b.addresses) }

// Stop ends the broker and then releases the folder. Further calls do nothing.
func (b *Broker) Stop() {
	b.once.Do(func() {
		b.cluster.Close()
		// Closing releases the lock; the file stays, for removing it would race with another process that opens it.
		_ = b.lock.Close()
	})
}
