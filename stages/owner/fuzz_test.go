package owner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"amends.dev/amends/stages/owner"
)

// FuzzDecode reads any bytes as either stored form, with the sum that fits them: what is read is written back the same,
// no bytes are both, and everything else is ErrNotThis.
func FuzzDecode(f *testing.F) {
	value := owner.Payload{SchemaVersion: 1, CodecVersion: 8, Bytes: make([]byte, 8)}
	history, err := owner.NewCompleteHistory("a", []owner.Positioned{{Position: 1, Payload: value}, {Position: 2, Payload: value}})
	if err != nil {
		f.Fatal(err)
	}
	for _, stored := range [][]byte{history.Bytes(), owner.NewLatest("a", owner.MarkAt(1), value).Bytes(), owner.CompleteHistory{}.Bytes()} {
		f.Add(stored[:len(stored)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		stored := append(bytes.Clone(body), sum[:]...)
		h, historyErr := owner.DecodeCompleteHistory(stored)
		l, latestErr := owner.DecodeLatest(stored)
		switch {
		case historyErr == nil && latestErr == nil:
			t.Fatalf("%x is both", stored)
		case historyErr == nil && !bytes.Equal(h.Bytes(), stored), latestErr == nil && !bytes.Equal(l.Bytes(), stored):
			t.Fatalf("%x is written otherwise", stored)
		case historyErr != nil && !errors.Is(historyErr, owner.ErrNotThis), latestErr != nil && !errors.Is(latestErr, owner.ErrNotThis):
			t.Fatalf("%v, %v", historyErr, latestErr)
		}
	})
}
