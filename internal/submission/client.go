// Package submission is a sender of durable requests that takes no answer on trust it cannot check and gives up no
// request whose fate it does not know: an answer that was lost is looked for at the handle, which it constructs (R32), and
// a server that cannot at present is asked again.
package submission

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

// Client sends to one namespace of one intake. It is safe for concurrent use.
type Client struct {
	// URL is the server's, without a path.
	URL, Namespace string
	// Token is the bearer token, empty where none is wanted.
	Token string
	HTTP  *http.Client
	// Sleep waits, at most until ctx ends, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Timeout bounds one exchange; Attempts the exchanges about one request, 0 for as many as it takes until ctx ends.
	Timeout  time.Duration
	Attempts int
}

// Request is one submission.
type Request struct {
	// ID is the request's ID, unique for its sender.
	ID          string
	Transaction json.RawMessage
	// Level is empty for a request without a marker.
	Level    string
	MustHave bool
	// Unchecked passes the transaction on as it is.
	Unchecked bool
}

// Answer is what became of a request, as the server said.
type Answer struct {
	Status    int
	Requested string `json:"requested"`
	Applied   string `json:"applied"`
	Committed string `json:"committed"`
	Handle    string `json:"handle"`
	Reason    string `json:"reason"`
	// Error and Detail are the server's, of a refusal.
	Error, Detail string
	// Found says that the answer was lost, or the request sent by an earlier run, and the entry found at its handle with
	// the same transaction.
	Found bool
	// Lost counts the exchanges without an answer, Retried those answered with 429 or 503.
	Lost, Retried int
}

// Performed reports whether the request was performed.
func (a *Answer) Performed() bool {
	return a.Status == http.StatusOK || a.Status == http.StatusAccepted
}

// ErrGaveUp is wrapped where the attempts are used up and nobody knows what became of the request.
var ErrGaveUp = errors.New("gave up")

// ErrUnsendable is wrapped where a request cannot be written as it is. Nothing was sent.
var ErrUnsendable = errors.New("the request cannot be written")

// firstPause and lastPause bound the pause between two attempts, retryAfterMax what a server can make of it.
const (
	firstPause    = 50 * time.Millisecond
	lastPause     = 2 * time.Second
	retryAfterMax = time.Minute
)

// Send submits a request until its fate is known. A 409 whose entry holds the same transaction is this request itself,
// sent before; one whose entry cannot be read leaves open whose it is, and is asked again. The error is that of ctx, or
// wraps ErrGaveUp or ErrUnsendable.
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	body, err := encode(r)
	if err != nil {
		return Answer{}, err
	}
	lost, retried := 0, 0
	pause := firstPause
	for attempt := 1; ; attempt++ {
		a, wait, err := c.once(ctx, r, body)
		switch {
		case err != nil || a.Status == http.StatusConflict:
			if err != nil {
				lost++
			}
			found, unread := c.find(ctx, r)
			if unread == nil && found != nil {
				a = *found
			}
			if unread == nil && (found != nil || err == nil) {
				a.Lost, a.Retried = lost, retried
				return a, nil
			}
			err = cmp.Or(err, unread)
		case a.Status != http.StatusTooManyRequests && a.Status != http.StatusServiceUnavailable:
			a.Lost, a.Retried = lost, retried
			return a, nil
		default:
			retried++
			pause = max(pause, wait)
		}
		a.Lost, a.Retried = lost, retried
		if attempt == c.Attempts {
			return a, fmt.Errorf("request %s: %w after %d attempts: %w", r.ID, ErrGaveUp, attempt, orStatus(err, a.Status))
		}
		if err := c.Sleep(ctx, pause); err != nil {
			return a, err
		}
		pause = min(2*pause, lastPause)
	}
}

func orStatus(err error, status int) error {
	if err == nil {
		return fmt.Errorf("status %d", status)
	}
	return err
}

// Handle is where a request is found again (R32).
func (c *Client) Handle(requestID string) string {
	return "/v1/namespaces/" + url.PathEscape(c.Namespace) + "/requests/" + url.PathEscape(requestID)
}

// Entry is a kept request at its handle, as far as a sender looks at it.
type Entry struct {
	Level       string          `json:"level"`
	Transaction json.RawMessage `json:"transaction"`
	Source      *struct {
		Partition int32 `json:"partition"`
		Offset    int64 `json:"offset"`
	} `json:"source"`
	Decision *struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	} `json:"decision"`
}

// Find reads the entry at a request's handle; nil where there is none.
func (c *Client) Find(ctx context.Context, requestID string) (*Entry, error) {
	status, text, _, err := c.exchange(ctx, http.MethodGet, c.Handle(requestID), nil)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, nil
	case status != http.StatusOK:
		return nil, fmt.Errorf("read request %s: status %d", requestID, status)
	}
	entry := &Entry{}
	if err := json.Unmarshal(text, entry); err != nil {
		return nil, fmt.Errorf("read request %s: %w", requestID, err)
	}
	if entry.Level == "" || len(entry.Transaction) == 0 {
		return nil, fmt.Errorf("read request %s: the entry has no level, or no transaction", requestID)
	}
	return entry, nil
}

// find looks for a request with the same transaction at its handle, nil where there is none.
func (c *Client) find(ctx context.Context, r Request) (*Answer, error) {
	entry, err := c.Find(ctx, r.ID)
	if err != nil || entry == nil || !same(entry.Transaction, r.Transaction) {
		return nil, err
	}
	return &Answer{
		Status: http.StatusOK, Requested: r.Level, Applied: entry.Level, Handle: c.Handle(r.ID), Found: true,
	}, nil
}

// same reports whether two JSON values have the same bytes but for white space.
func same(a, b json.RawMessage) bool {
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}

// encode is the body of a submission. An ID that is not text would arrive as another one.
func encode(r Request) ([]byte, error) {
	if !utf8.ValidString(r.ID) {
		return nil, fmt.Errorf("request %q: %w: its ID is not UTF-8", r.ID, ErrUnsendable)
	}
	body := map[string]any{"request_id": r.ID, "transaction": r.Transaction}
	if r.Level != "" {
		body["durability_request"] = map[string]any{"level": r.Level, "must_have": r.MustHave}
	}
	if r.Unchecked {
		body["validate"] = false
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("request %s: %w: %w", r.ID, ErrUnsendable, err)
	}
	return text.Bytes(), nil
}

// once submits once. An error leaves open what became of the request.
func (c *Client) once(ctx context.Context, r Request, body []byte) (Answer, time.Duration, error) {
	status, answered, header, err := c.exchange(ctx, http.MethodPost, "/v1/namespaces/"+url.PathEscape(c.Namespace)+"/transactions", body)
	if err != nil {
		return Answer{}, 0, err
	}
	var read struct {
		RequestID  string `json:"request_id"`
		Error      string `json:"error"`
		Detail     string `json:"detail"`
		Durability Answer `json:"durability"`
	}
	if err := json.Unmarshal(answered, &read); err != nil {
		return Answer{}, 0, fmt.Errorf("read the answer to request %s, status %d: %w", r.ID, status, err)
	}
	a := read.Durability
	a.Status, a.Error, a.Detail = status, read.Error, read.Detail
	if problem := a.problem(r, read.RequestID); problem != "" {
		return Answer{}, 0, fmt.Errorf("the answer to request %s, status %d: %s", r.ID, status, problem)
	}
	return a, retryAfter(header.Get("Retry-After")), nil
}

// problem says why an answer says nothing of a request, empty where it does. Whoever else answers in the intake's place, a
// proxy or the target of a redirection, knows nothing of it.
func (a *Answer) problem(r Request, requestID string) string {
	switch known := a.Performed() || a.Status == http.StatusServiceUnavailable || a.Status >= 400 && a.Status < 500; {
	case !known:
		return "no status of an intake"
	case !a.Performed():
		return ""
	case requestID != "" && requestID != r.ID: // not every server of the contract names it
		return fmt.Sprintf("it names request %q", requestID)
	case a.Requested != r.Level:
		return fmt.Sprintf("it is about level %q, asked for was %q", a.Requested, r.Level)
	}
	return ""
}

// retryAfter reads the header of that name, in whole seconds; 0 where it says nothing that is understood.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return retryAfterMax
	}
	return time.Duration(min(seconds, uint64(retryAfterMax/time.Second))) * time.Second
}

// exchange makes one request.
func (c *Client) exchange(ctx context.Context, method, path string, body []byte) (int, []byte, http.Header, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make a request: %w", err)
	}
	request.GetBody = nil // a request whose connection ended is not sent again unseen
	request.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("ask the intake: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read the intake's answer: %w", err)
	}
	return response.StatusCode, text, response.Header, nil
}
