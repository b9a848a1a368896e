package recordfile

import (
	"fmt"
	"iter"
)

// OfTopic passes records on that are of the topic, or name none, and ends with an error at the first of another one: the
// history of another topic would be judged under this one's manifest, and read as if it were this one's.
func OfTopic(records iter.Seq2[Record, error], topic string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range records {
			if err == nil && r.Topic != "" && r.Topic != topic {
				yield(Record{}, fmt.Errorf("partition %d, offset %d: the record is of topic %q, and the manifest's source topic is %q",
					r.Partition, r.Offset, r.Topic, topic))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
