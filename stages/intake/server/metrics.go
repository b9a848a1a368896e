package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// bounds are those of the duration histogram.
var bounds = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
}

// metrics counts answers and how long submissions took. Safe for concurrent use.
type metrics struct {
	mu       sync.Mutex
	statuses map[int]int64
	buckets  []int64
	total    time.Duration
	samples  int64
}

func newMetrics() *metrics {
	return &metrics{statuses: map[int]int64{}, buckets: make([]int64, len(bounds))}
}

// count notes the status of an answer to a submission; 0 is a connection ended without one.
func (m *metrics) count(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statuses[status]++
}

// took notes how long a submission took.
func (m *metrics) took(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, bound := range bounds {
		if d <= bound {
			m.buckets[i]++
		}
	}
	m.total += d
	m.samples++
}

// whether is 1 for true.
func whether(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// showStalls tells which tasks fail, how often in a row and since when. A task that works has no sample.
func (s *server) showStalls(b *strings.Builder, head func(name, kind, help string)) {
	if s.options.Status == nil {
		return
	}
	var attempts, since strings.Builder
	for _, status := range s.options.Status() {
		if status.Stall == nil {
			continue
		}
		labels := fmt.Sprintf("{stage=%q,partition=\"%d\"}", status.Stage, status.Partition)
		fmt.Fprintf(&attempts, "amends_intake_stalled_attempts%s %d\n", labels, status.Stall.Attempts)
		if !status.Stall.Since.IsZero() {
			fmt.Fprintf(&since, "amends_intake_stalled_since_timestamp_seconds%s %d\n", labels, status.Stall.Since.Unix())
		}
	}
	head("amends_intake_stalled_attempts", "gauge", "Failures in a row of a task that does not get on; 0 where it waits for another process, or stopped.")
	b.WriteString(attempts.String())
	head("amends_intake_stalled_since_timestamp_seconds", "gauge", "Since when a task fails, in seconds since 1970.")
	b.WriteString(since.String())
}

// showMetrics is GET /metrics, in the Prometheus text format.
func (s *server) showMetrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, value int64) {
		head(name, kind, help)
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	s.metrics.mu.Lock()
	head("amends_intake_answers_total", "counter", "Answers to submissions by status; 0 is a connection ended because no answer would be true.")
	statuses := make([]int, 0, len(s.metrics.statuses))
	for status := range s.metrics.statuses {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	for _, status := range statuses {
		fmt.Fprintf(&b, "amends_intake_answers_total{status=\"%d\"} %d\n", status, s.metrics.statuses[status])
	}
	head("amends_intake_submission_seconds", "histogram", "Time from a submission's first byte to its answer.")
	for i, bound := range bounds {
		fmt.Fprintf(&b, "amends_intake_submission_seconds_bucket{le=\"%g\"} %d\n", bound.Seconds(), s.metrics.buckets[i])
	}
	fmt.Fprintf(&b, "amends_intake_submission_seconds_bucket{le=\"+Inf\"} %d\n", s.metrics.samples)
	fmt.Fprintf(&b, "amends_intake_submission_seconds_sum %g\namends_intake_submission_seconds_count %d\n", s.metrics.total.Seconds(), s.metrics.samples)
	s.metrics.mu.Unlock()

	done := s.options.Intake.Done()
	kept, direct := s.options.Intake.Waiting()
	ok, _ := s.options.Intake.Ready()
	ready := whether(ok)
	one("amends_intake_ready", "gauge", "1 while submissions are performed, or told why not: what /readyz says.", ready)
	one("amends_intake_kept_total", "counter", "Requests kept in the owner store.", done.Kept.Load())
	one("amends_intake_direct_total", "counter", "Requests published without being kept.", done.Direct.Load())
	one("amends_intake_group_commits_total", "counter", "Transactions of the owner store that kept requests.", done.Commits.Load())
	one("amends_intake_delivered_total", "counter", "Decisions delivered to the topics of deliver_to.", done.Delivered.Load())
	one("amends_intake_statuses_total", "counter", "Statuses sent to the status topic.", done.Statuses.Load())
	head("amends_intake_waiting", "gauge", "Requests that wait for the next group.")
	fmt.Fprintf(&b, "amends_intake_waiting{for=\"commit\"} %d\namends_intake_waiting{for=\"publication\"} %d\n", kept, direct)
	one("amends_intake_held_answers", "gauge", "Answers held back by wait.", int64(s.waits.now()))
	one("amends_intake_unpublished", "gauge", "Kept requests that are not published yet, at most the bound of --max-unpublished.",
		int64(s.options.Intake.Unpublished()))
	one("amends_intake_backlog_full", "gauge", "1 while submissions that ask to be kept get 503 because of amends_intake_unpublished.",
		whether(s.options.Intake.Full()))
	s.showStalls(&b, head)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write([]byte(b.String())); err != nil {
		s.options.Log.Debug("write metrics", "error", err)
	}
}
