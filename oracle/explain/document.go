package explain

import (
	"encoding/json"
	"io"
	"math/big"
	"slices"
)

// Document is the answer to one question about a key, in the shape of schemas/explain.json.
type Document struct {
	SchemaVersion int    `json:"schemaVersion"`
	Namespace     string `json:"namespace"`
	Digest        string `json:"digest"`
	// Source is the part of the history that was read.
	Source Source `json:"source"`
	// Day is the day asked for; empty where all were.
	Day string `json:"day,omitempty"`
	Key Key    `json:"key"`
	// Implied is the close of Day where no transaction is active on it (S5); nil where one is, where all days were asked for,
	// of a BLOCKED key, and before the ledger origin.
	Implied *Implied `json:"implied,omitempty"`
	// Versions are the key's output versions; nil where there is no output topic to read.
	Versions []Version `json:"versions"`
	// OmittedVersions counts what Limited left out.
	OmittedVersions int64 `json:"omittedVersions"`
	// View are the key's rows in the view; nil where there is no view to read.
	View []Fact `json:"view"`
	// ViewFrontier is the view's exclusive position in the key's output partition at the moment of reading, and
	// OutputEnd the end up to which versions were read; nil where there is none.
	ViewFrontier *int64 `json:"viewFrontier"`
	OutputEnd    *int64 `json:"outputEnd"`
}

// Source is a part of a source history. From and Through are by partition; empty where a file did not say.
type Source struct {
	// Name is a topic, or the path of a file or snapshot.
	Name    string  `json:"name"`
	TopicID string  `json:"topicId,omitempty"`
	From    []int64 `json:"from"`
	// Through is exclusive.
	Through []int64 `json:"through"`
	// Records is how many records were read, of all keys.
	Records int64 `json:"records"`
}

// Implied is the close of a day without activity: that of the most recent earlier day that has one, or the opening balance.
type Implied struct {
	Close *big.Int `json:"close"`
	// From is the day whose close it is; empty for the opening balance.
	From string `json:"from,omitempty"`
}

// OnDay is the document as far as one day is concerned; the key's status stays.
func (d Document) OnDay(day string) Document {
	if day == "" {
		return d
	}
	d.Implied = d.Key.implied(day)
	d.Day, d.Key = day, d.Key.OnDay(day)
	other := func(f Fact) bool { return f.Day != day && f.Family != FamilyStatus }
	if d.Versions != nil {
		d.Versions = slices.DeleteFunc(slices.Clone(d.Versions), func(v Version) bool { return other(v.Fact) })
	}
	if d.View != nil {
		d.View = slices.DeleteFunc(slices.Clone(d.View), other)
	}
	return d
}

// Limited is the document with its key Limited and at most limit versions of each fact, the highest ones; 0 is no limit.
// What is left out is counted.
func (d Document) Limited(limit int) Document {
	if limit <= 0 {
		return d
	}
	d.Key = d.Key.Limited(limit, map[string]bool{d.Day: true})
	type fact struct{ family, day string }
	left := map[fact]int{}
	for _, v := range d.Versions {
		left[fact{v.Family, v.Day}]++
	}
	var kept []Version
	for _, v := range d.Versions { // those of a fact come by version
		of := fact{v.Family, v.Day}
		if left[of] <= limit {
			kept = append(kept, v)
		}
		left[of]--
	}
	d.OmittedVersions += int64(len(d.Versions) - len(kept))
	if d.Versions != nil {
		d.Versions = append([]Version{}, kept...)
	}
	return d
}

// JSON writes the document, indented.
func JSON(w io.Writer, d Document) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}
