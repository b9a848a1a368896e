package e2e_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
)

// treatment is what a proxy does with a COMMIT.
type treatment int

const (
	// cutBefore ends the connection instead of sending it; cutAfter when the server has answered and nobody was told. The
	// zero treatment passes it on.
	cutBefore treatment = 1 + iota
	cutAfter
	// rollback sends ROLLBACK instead.
	rollback
	treatments
)

// proxy stands between the stages and Postgres, and treats their COMMITs in turn.
type proxy struct {
	network, server string

	mu      sync.Mutex
	commits int
	done    [treatments]int
}

// proxied starts a proxy before the database of processing state and returns the URL that leads through it.
func (b *bed) proxied() (*proxy, string) {
	b.t.Helper()
	config, err := pgx.ParseConfig(b.stateURL)
	b.must(err)
	p := &proxy{network: "tcp", server: net.JoinHostPort(config.Host, fmt.Sprint(config.Port))}
	if filepath.IsAbs(config.Host) {
		p.network, p.server = "unix", filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	b.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go p.serve(client)
		}
	}()
	through := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: listener.Addr().String(),
		Path: config.Database, RawQuery: "sslmode=disable"}
	return p, through.String()
}

// next says how the next COMMIT is treated: every fourth one passes.
func (p *proxy) next() treatment {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := treatment(p.commits % int(treatments))
	p.commits++
	p.done[t]++
	return t
}

// serve copies one connection both ways until one side ends.
func (p *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial(p.network, p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	deaf := make(chan struct{}) // closed when the client is to hear no more
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			select {
			case <-deaf:
				_ = client.Close()
				return
			default:
			}
			if n > 0 {
				_, _ = client.Write(buf[:n])
			}
			if err != nil {
				_ = client.Close()
				return
			}
		}
	}()
	p.forward(client, server, deaf)
}

// commitMessage is the simple query that pgx ends a transaction with, rollbackMessage what a proxy may make of it.
var commitMessage, rollbackMessage = query("commit"), query("rollback")

func query(text string) []byte {
	message := binary.BigEndian.AppendUint32([]byte("Q"), uint32(4+len(text)+1))
	return append(append(message, text...), 0)
}

// forward copies what the client says.
func (p *proxy) forward(client, server net.Conn, deaf chan struct{}) {
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		said := buf[:n]
		if bytes.Equal(said, commitMessage) {
			switch p.next() {
			case cutBefore:
				return
			case cutAfter:
				close(deaf)
				_, _ = server.Write(said)
				_, _ = client.Read(buf) // until the other direction has seen the answer and closed it
				return
			case rollback:
				said = rollbackMessage
			default:
			}
		}
		if n > 0 {
			if _, err := server.Write(said); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestSC18CommitsThroughAProxy: worker and relay reach Postgres through a proxy that cuts the connection before COMMIT is
// sent, cuts it when it was executed and the answer is on its way, and makes a ROLLBACK of it, in turn. Nothing is decided
// twice, nothing is lost (SC18, B036, B037).
func TestSC18CommitsThroughAProxy(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.maxBatch = 50
		p, through := b.proxied()
		c.Produce(t, b.generated(options(2_000))...)
		b.start(pipeline.View)
		b.stageURL = through
		b.start(pipeline.Worker, pipeline.Relay)
		r := b.verify(report.Pass)
		n := b.matchesCore()
		if n.records != 2_000 || r.Counts.Records != 2_000 || n.rejected != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for treated, times := range p.done {
			if times < 5 {
				t.Errorf("COMMIT was treated in way %d %d times: %v", treated, times, p.done)
			}
		}
		t.Log(n, p.done)
	})
}
