package mark

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// recorder is a TB that keeps failures instead of failing.
type recorder struct {
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func TestExpectSeesHits(t *testing.T) {
	r := &recorder{}
	Expect(r, "R09", "R15")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { Hit("R09"); Hit("R15") })
	}
	group.Wait()
	r.end()
	if r.failures != nil {
		t.Errorf("marks were hit, yet: %q", r.failures)
	}
}

func TestExpectFailsWithoutHit(t *testing.T) {
	Hit("R09") // before anybody watches
	first := &recorder{}
	Expect(first, "R09")
	Hit("R09")
	second := &recorder{} // must not be satisfied by the hit above
	Expect(second, "R09", "R15")
	Hit("R15")
	second.end()
	first.end()
	if first.failures != nil {
		t.Errorf("the first watcher saw its mark, yet: %q", first.failures)
	}
	if want := []string{"mark R09 was not hit"}; !slices.Equal(second.failures, want) {
		t.Errorf("the second watcher failed with %q, want %q", second.failures, want)
	}
}

func BenchmarkHitUnwatched(b *testing.B) {
	for b.Loop() {
		Hit("R09")
	}
}
