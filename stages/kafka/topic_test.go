package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

// TestB010FetchProvesTheTopic: records count only where the fetch that brought them names the recorded topic ID, whatever
// was true when the reader was opened.
func TestB010FetchProvesTheTopic(t *testing.T) {
	recorded, other := [16]byte{1}, [16]byte{2}
	r := &reader{topic: Topic{Name: "in", ID: formatID(recorded), Partitions: 1}}
	if err := r.checkFetched(kgo.FetchTopic{Topic: "in", TopicID: recorded}); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	if err := r.checkFetched(kgo.FetchTopic{Topic: "in", TopicID: other}); !errors.Is(err, broker.ErrTopicChanged) {
		t.Errorf("another topic ID: %v", err)
	}
	if err := r.checkFetched(kgo.FetchTopic{Topic: "in"}); err == nil {
		t.Error("no topic ID: no error")
	}
}
