package rebuilding

import (
	"errors"
	"fmt"
	"strings"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/boundary"
)

// ErrHistory is wrapped where a topic is not, or no longer wholly, the history that is to be rebuilt from (S11).
var ErrHistory = errors.New("the source topic cannot supply the history")

// CheckHistory refuses a source topic that is another incarnation, has lost its beginning, or may lose something while it
// is read. topic is nil where it does not exist.
func CheckHistory(topic *boundary.Topic, name, id string, partitions int32) error {
	switch {
	case topic == nil:
		return fmt.Errorf("%w: topic %s does not exist any more", ErrHistory, name)
	case topic.ID != id:
		mark.Hit("S11 recreated source refused")
		return fmt.Errorf("%w: topic %s was recreated: its topic ID is %s, the namespace was applied with %s", ErrHistory, name, topic.ID, id)
	case len(topic.Stables) != int(partitions):
		return fmt.Errorf("%w: topic %s has %d partitions, want %d", ErrHistory, name, len(topic.Stables), partitions)
	}
	for p, start := range topic.Starts {
		if start > 0 {
			mark.Hit("SC24 lost history refused")
			return fmt.Errorf("%w: topic %s, partition %d begins at offset %d: earlier records are lost", ErrHistory, name, p, start)
		}
	}
	if limits := topic.Limits(); len(limits) > 0 {
		return fmt.Errorf("%w: topic %s has %s: history may be destroyed", ErrHistory, name, strings.Join(limits, ", "))
	}
	return nil
}
