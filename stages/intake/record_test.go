package intake

import (
	"bytes"
	"testing"

	"amends.dev/amends/stages/owner"
)

// TestPublicationRoundTrip: what an effect publishes is what was kept, byte for byte, the null key and the empty one told
// apart; what is cut short or of other versions is refused.
func TestPublicationRoundTrip(t *testing.T) {
	t.Parallel()
	records := []Record{
		{Key: []byte(`["widget","berlin"]`), Value: []byte(`{"a": 1}`), Partition: 3},
		{Value: []byte(`"no key"`)},
		{Key: []byte{}, Value: []byte{0, 255}, Partition: 1 << 30},
	}
	for _, want := range records {
		got, err := published(publication(want))
		if err != nil || !bytes.Equal(got.Key, want.Key) || (got.Key == nil) != (want.Key == nil) || !bytes.Equal(got.Value, want.Value) || got.Partition != want.Partition {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	whole := publication(Record{Key: []byte("key"), Partition: 300})
	for length := range len(whole.Bytes) {
		cut := whole
		cut.Bytes = whole.Bytes[:length]
		if r, err := published(cut); err == nil {
			t.Errorf("%d of %d bytes are %+v", length, len(whole.Bytes), r)
		}
	}
	for _, other := range []owner.Payload{{SchemaVersion: 2, CodecVersion: 2}, {SchemaVersion: 1, CodecVersion: 1}} {
		other.Bytes = whole.Bytes
		if _, err := published(other); err == nil {
			t.Errorf("versions %d and %d were read", other.SchemaVersion, other.CodecVersion)
		}
	}
}
