//go:build figure

package intakeload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// wire is a client of the intake that costs the measured machine as little as it can: one connection, kept alive, and one
// request at a time, of which it reads the status and looks for what is in place. It repeats nothing.
type wire struct {
	conn    net.Conn
	in      *bufio.Reader
	head    string
	request []byte
	body    []byte
}

// wires opens n connections to the intake, closed when the test ends.
func (b *bed) wires(n int) []*wire {
	b.t.Helper()
	all := make([]*wire, n)
	for i := range all {
		conn, err := net.Dial("tcp", b.listen)
		b.must(err)
		b.t.Cleanup(func() { _ = conn.Close() })
		all[i] = &wire{
			conn: conn, in: bufio.NewReader(conn),
			head: "POST /v1/namespaces/" + b.ns.Name + "/transactions HTTP/1.1\r\nHost: " + b.listen + "\r\nContent-Type: application/json\r\nContent-Length: ",
		}
	}
	return all
}

// send submits a transaction and wants it performed at the level at least.
func (w *wire) send(id string, transaction json.RawMessage, level string) error {
	w.body = fmt.Appendf(w.body[:0], `{"request_id":%q,"transaction":%s,"durability_request":{"level":%q,"must_have":true}}`, id, transaction, level)
	w.request = strconv.AppendInt(append(w.request[:0], w.head...), int64(len(w.body)), 10)
	w.request = append(append(w.request, "\r\n\r\n"...), w.body...)
	if _, err := w.conn.Write(w.request); err != nil {
		return err
	}
	status, err := w.answer()
	switch {
	case err != nil:
		return err
	case status != http.StatusOK && status != http.StatusAccepted, level == "stored" && !bytes.Contains(w.body, []byte(`"applied":"stored"`)):
		return fmt.Errorf("%s: %d %s", id, status, w.body)
	}
	return nil
}

// answer reads one, with its body.
func (w *wire) answer() (status int, err error) {
	length := 0
	for n := 0; ; n++ {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if n == 0 {
			if status, err = strconv.Atoi(string(line[len("HTTP/1.1 "):][:3])); err != nil {
				return 0, err
			}
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	w.body = append(w.body[:0], make([]byte, length)...)
	_, err = io.ReadFull(w.in, w.body)
	return status, err
}

// rate is that of the intake at a level.
func (b *bed) rate(t *testing.T, level string) (int64, []time.Duration) {
	t.Helper()
	clients := b.wires(parallel)
	run := time.Now().UnixNano()
	return everybody(t, func(worker, n int) error {
		return clients[worker].send(fmt.Sprintf("%s-%d-%d-%d", level, run, worker, n), transaction(worker, n), level)
	})
}
