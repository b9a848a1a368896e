package owner_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"amends.dev/amends/stages/owner"
)

// value is a payload in the vectors.
type value struct {
	SchemaVersion uint64 `json:"schema_version"`
	CodecVersion  uint64 `json:"codec_version"`
	Bytes         hexed  `json:"bytes_hex"`
}

func (v value) payload() owner.Payload {
	return owner.Payload{SchemaVersion: v.SchemaVersion, CodecVersion: v.CodecVersion, Bytes: v.Bytes}
}

// hexed is bytes in hexadecimal.
type hexed []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexed) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(string(text))
	*h = decoded
	return err
}

// vectors are testdata/vectors.json, which was written by a program that shares nothing with this one, from
// docs/reference/durable-owner.md.
type vectors struct {
	Histories []struct {
		Name     string
		OwnerID  string `json:"owner_id"`
		Records  []value
		Observed value
		SHA256   string
		Durable  hexed `json:"durable_hex"`
	}
	Projections []struct {
		Name   string
		Value  value
		SHA256 string
	}
	Latest []struct {
		Name     string
		OwnerID  string `json:"owner_id"`
		Position uint64
		Value    value
		SHA256   string
		Durable  hexed `json:"durable_hex"`
	}
	Units []struct {
		Name        string
		InboxID     string `json:"inbox_id"`
		Fingerprint hexed  `json:"fingerprint_hex"`
		Append      []value
		Replace     *value
		Effects     []struct {
			ID      string
			Payload value
		}
		Receipts []struct {
			ID       string
			EffectID string `json:"effect_id"`
			Outcome  string
			Payload  value
		}
		Latest *value
		SHA256 string
	}
}

func readVectors(t *testing.T) *vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	v := &vectors{}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	if len(v.Histories) < 6 || len(v.Projections) < 3 || len(v.Latest) < 4 || len(v.Units) < 5 {
		t.Fatalf("vectors are missing: %d, %d, %d, %d", len(v.Histories), len(v.Projections), len(v.Latest), len(v.Units))
	}
	return v
}

// TestFingerprintVectors recomputes every fingerprint and durable form, and wants those of different content to differ.
func TestFingerprintVectors(t *testing.T) {
	seen := map[string]string{}
	check := func(name, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[got] = name
	}
	v := readVectors(t)
	for _, c := range v.Histories {
		var events []owner.Positioned
		for i, r := range c.Records {
			events = append(events, owner.Positioned{Position: uint64(i + 1), Payload: r.payload()})
		}
		h, err := owner.NewCompleteHistory(c.OwnerID, events)
		if err != nil {
			t.Fatal(err)
		}
		check("history "+c.Name, h.Fingerprint(c.Observed.payload()).String(), c.SHA256)
		if !bytes.Equal(h.Bytes(), c.Durable) {
			t.Errorf("history %s: %x", c.Name, h.Bytes())
		}
		read, err := owner.DecodeCompleteHistory(c.Durable)
		if err != nil || read.Fingerprint(c.Observed.payload()) != h.Fingerprint(c.Observed.payload()) {
			t.Errorf("history %s, read: %v", c.Name, err)
		}
	}
	for _, c := range v.Projections {
		check("projection "+c.Name, owner.FingerprintProjection(c.Value.payload()).String(), c.SHA256)
	}
	for _, c := range v.Latest {
		l := owner.NewLatest(c.OwnerID, owner.MarkAt(c.Position), c.Value.payload())
		if c.Name == "the same at another position" {
			delete(seen, c.SHA256)
		}
		check("latest "+c.Name, l.Fingerprint().String(), c.SHA256)
		if !bytes.Equal(l.Bytes(), c.Durable) {
			t.Errorf("latest %s: %x", c.Name, l.Bytes())
		}
		read, err := owner.DecodeLatest(c.Durable)
		if err != nil || !bytes.Equal(read.Bytes(), l.Bytes()) {
			t.Errorf("latest %s, read: %v", c.Name, err)
		}
	}
}

// TestUnitOfWorkVectors recomputes the digests that tell an exact repetition from another use of an inbox identity.
func TestUnitOfWorkVectors(t *testing.T) {
	seen := map[string]bool{}
	for _, u := range readVectors(t).Units {
		c := owner.Commit{OwnerID: "any", ExpectedPosition: 3, Fence: 4, Inbox: owner.Inbox{ID: u.InboxID, Fingerprint: u.Fingerprint}}
		for _, e := range u.Append {
			c.Append = append(c.Append, e.payload())
		}
		if u.Replace != nil {
			p := u.Replace.payload()
			c.Replace = &p
		}
		for _, e := range u.Effects {
			c.Effects = append(c.Effects, owner.Effect{ID: e.ID, Payload: e.Payload.payload()})
		}
		for _, r := range u.Receipts {
			c.Receipts = append(c.Receipts, owner.Receipt{ID: r.ID, EffectID: r.EffectID, Outcome: r.Outcome, Payload: r.Payload.payload()})
		}
		if u.Latest != nil {
			p := u.Latest.payload()
			c.Latest = &p
		}
		digest := c.Digest()
		if got := hex.EncodeToString(digest[:]); got != u.SHA256 || seen[got] {
			t.Errorf("%s: %s, want %s", u.Name, got, u.SHA256)
		}
		seen[u.SHA256] = true
		c.OwnerID, c.ExpectedPosition, c.Fence, c.Create = "other", 0, 0, &owner.Config{Mode: owner.Snapshot}
		if c.Digest() != digest {
			t.Errorf("%s: owner, position, fence or Create are in the digest", u.Name)
		}
	}
}
