// Package durabilityprobe asks a server of the request-durability contract, over HTTP and with nothing but what any sender
// has, whether it keeps what the contract demands: each check is one sentence of it. A check that cannot be made on a
// server, because nothing there leads to the case, says so and is no failure.
package durabilityprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say what is probed.
type Options struct {
	// URL is the server's, without a path; Namespace is in it.
	URL, Namespace string
	// Token is the bearer token, empty where none is wanted.
	Token string
	// Transaction is one that the server accepts, sent again and again. Where it is nil an empty object is sent with
	// validate false, which the worker rejects: its records end in quarantine.
	Transaction json.RawMessage
	// Levels are names that the server may recognise, beside those that it advertises.
	Levels []string
	// Patience bounds the wait for what is promised.
	Patience time.Duration
	// Run is unique to this run: request IDs begin with it.
	Run  string
	HTTP *http.Client
	// Sleep waits, at most until ctx ends, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Result says how a check ended.
type Result string

// The results.
const (
	Passed Result = "ok"
	Failed Result = "FAIL"
	// NotMade is a check to which nothing on this server leads.
	NotMade Result = "-"
)

// Outcome is one check with its result.
type Outcome struct {
	// ID names the check, Says is the sentence of the contract.
	ID   string `json:"id"`
	Says string `json:"says"`
	// Result, and what was found: the fault, or why the check was not made.
	Result Result `json:"result"`
	Found  string `json:"found,omitempty"`
}

// probe is one run.
type probe struct {
	Options
	next int
	// levels are to be asked for, and unknown is recognised by nobody.
	levels  []string
	unknown string
}

// answer is one answer.
type answer struct {
	status int
	body   map[string]json.RawMessage
	// field is the durability field, raw and read; nil where there is none.
	raw   map[string]json.RawMessage
	field *field
	text  string
}

// field is the pinned result.
type field struct {
	Requested    *string `json:"requested"`
	Applied      *string `json:"applied"`
	Committed    *string `json:"committed"`
	MaxAvailable *string `json:"max_available"`
	Handle       *string `json:"handle"`
	Reason       *string `json:"reason"`
}

// is compares an optional member with a value.
func is(member *string, value string) bool { return member != nil && *member == value }

// performed reports whether the status says so.
func (a *answer) performed() bool {
	return a.status == http.StatusOK || a.status == http.StatusAccepted
}

// String shows an answer in one line.
func (a *answer) String() string {
	return fmt.Sprintf("status %d %s", a.status, strings.TrimSpace(a.text[:min(len(a.text), 300)]))
}

// id is a request ID that was never used.
func (p *probe) id() string {
	p.next++
	return fmt.Sprintf("%s-%d", p.Run, p.next)
}

// marker is what is asked for; nil for nothing.
type marker struct {
	Level    string `json:"level"`
	MustHave bool   `json:"must_have"`
}

// submit sends one request.
func (p *probe) submit(ctx context.Context, id string, m *marker) (*answer, error) {
	return p.send(ctx, id, p.Transaction, m)
}

// send sends one request with a transaction.
func (p *probe) send(ctx context.Context, id string, transaction json.RawMessage, m *marker) (*answer, error) {
	body := map[string]any{"request_id": id, "transaction": transaction}
	if p.Transaction == nil {
		body["transaction"], body["validate"] = json.RawMessage(`{}`), false
		if transaction != nil {
			body["transaction"] = transaction
		}
	}
	if m != nil {
		body["durability_request"] = m
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	return p.do(ctx, http.MethodPost, "/v1/namespaces/"+url.PathEscape(p.Namespace)+"/transactions", text)
}

// do makes a request, and again where the server says that it cannot at present.
func (p *probe) do(ctx context.Context, method, path string, body []byte) (*answer, error) {
	for tries := 0; ; tries++ {
		a, err := p.once(ctx, method, path, body)
		if err != nil || tries == 10 || a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests {
			return a, err
		}
		if err := p.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

func (p *probe) once(ctx context.Context, method, path string, body []byte) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(p.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if p.Token != "" {
		request.Header.Set("Authorization", "Bearer "+p.Token)
	}
	response, err := p.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	a := &answer{status: response.StatusCode, text: string(text)}
	if json.Unmarshal(text, &a.body) != nil {
		return a, nil
	}
	if raw, ok := a.body["durability"]; ok && json.Unmarshal(raw, &a.raw) == nil && a.raw != nil {
		a.field = &field{}
		if json.Unmarshal(raw, a.field) != nil {
			a.field = nil
		}
	}
	return a, nil
}

// entry reads a handle.
func (p *probe) entry(ctx context.Context, handle string) (*answer, error) {
	return p.do(ctx, http.MethodGet, handle, nil)
}

// advertised reads the levels of the optional advertisement; none where it is absent.
func (p *probe) advertised(ctx context.Context) ([]string, *answer, error) {
	a, err := p.do(ctx, http.MethodGet, "/v1/durability", nil)
	if err != nil || a.status != http.StatusOK {
		return nil, a, err
	}
	var offers []struct {
		Level string `json:"level"`
	}
	if err := json.Unmarshal(a.body["levels"], &offers); err != nil {
		return nil, a, nil //nolint:nilerr // whoever asked judges the answer
	}
	var levels []string
	for _, offer := range offers {
		levels = append(levels, offer.Level)
	}
	return levels, a, nil
}
