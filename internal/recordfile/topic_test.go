package recordfile

import (
	"strings"
	"testing"
)

// TestOtherTopic: records of the manifest's topic and records that name none pass; the first of another topic ends the
// history.
func TestOtherTopic(t *testing.T) {
	const file = `{"partition":0,"offset":0,"key":null,"payload":null}
{"topic":"a","partition":0,"offset":1,"key":null,"payload":null}
`
	read := func(topic string) (n int, last error) {
		for _, err := range OfTopic(Read("f.jsonl", strings.NewReader(file)), topic) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := read("a"); n != 2 || err != nil {
		t.Fatalf("the undamaged twin: %d records, %v", n, err)
	}
	n, err := read("b")
	if n != 1 || err == nil || !strings.Contains(err.Error(), `offset 1: the record is of topic "a", and the manifest's source topic is "b"`) {
		t.Errorf("%d records, %v", n, err)
	}
}
