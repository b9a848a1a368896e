package intakeload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// errLost is what a lossy transport says instead of an answer.
var errLost = errors.New("the answer was lost")

// lossy loses the answer to every nth submission: the server has given it, and nobody gets it.
type lossy struct {
	inner http.RoundTripper
	every int64
	count atomic.Int64
	lost  atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.inner.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || l.count.Add(1)%l.every != 0 {
		return response, err
	}
	_ = response.Body.Close()
	l.lost.Add(1)
	return nil, errLost
}

// post submits one body and returns the status, 0 where there is no answer.
func (b *bed) post(ctx context.Context, body string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.listen+"/v1/namespaces/load/transactions", strings.NewReader(body))
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestB135KilledInTheMiddle: identical requests in parallel while the intake is killed; all are sent again. At most one of
// them ever was a success; there is one entry, with all of its effects, and one record; whoever got no answer finds the
// entry, or is told 409.
func TestB135KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Fake(t))
	intake := spawn(t, b.plan())
	b.ready()
	const ids, parallel = 10, 20
	body := func(id int) string {
		return fmt.Sprintf(`{"request_id":"same-%d","transaction":%s,"durability_request":{"level":"published","must_have":true}}`, id, transaction(id, 0))
	}
	statuses := make([]map[int]int, ids)
	for id := range statuses {
		statuses[id] = map[int]int{}
	}
	var mu sync.Mutex
	var answered atomic.Int64
	wave := func(retry bool) {
		var group sync.WaitGroup
		for n := range ids * parallel {
			group.Go(func() {
				status := b.post(t.Context(), body(n%ids))
				for retry && (status == 0 || status == http.StatusServiceUnavailable) && t.Context().Err() == nil {
					time.Sleep(50 * time.Millisecond)
					status = b.post(t.Context(), body(n%ids))
				}
				answered.Add(1)
				mu.Lock()
				defer mu.Unlock()
				statuses[n%ids][status]++
			})
		}
		if !retry {
			for answered.Load() < ids*parallel/4 {
				time.Sleep(time.Millisecond)
			}
			intake.Kill()
		}
		group.Wait()
	}
	wave(false)
	spawn(t, b.plan())
	b.ready()
	wave(true)
	b.drained()
	copies := map[string]int{}
	for _, r := range b.records() {
		copies[string(r.Value)]++
	}
	for id, seen := range statuses {
		if seen[202] > 1 || seen[200] > 0 || seen[202]+seen[409]+seen[503]+seen[0] != 2*parallel {
			t.Errorf("same-%d: answers %v", id, seen)
		}
		entry, err := b.client(1).Find(t.Context(), fmt.Sprint("same-", id))
		if err != nil || entry == nil || entry.Level != "published" || entry.Source == nil {
			t.Errorf("same-%d: entry %+v, %v", id, entry, err)
		}
		if copies[string(transaction(id, 0))] < 1 {
			t.Errorf("same-%d is not in the topic", id)
		}
	}
	if n := b.number(`SELECT count(*) FROM amends_load.owner WHERE starts_with(owner_id, 'intake/')`); n != ids {
		t.Errorf("%d entries, want %d", n, ids)
	}
	if n := b.number(`SELECT count(*) FROM amends_load.owner_effect`); n != ids {
		t.Errorf("%d effects, want %d", n, ids)
	}
}
