package report

import (
	"slices"

	"amends.dev/amends/oracle/diagnostics"
)

// Expected is the outcome of comparing the diagnostics with a file of expected ones (R24).
type Expected struct {
	// File is the file as the user named it, Name its metadata.name.
	File string `json:"file"`
	Name string `json:"name"`
	// Exact says that the file lists exactly what was found.
	Exact bool `json:"exact"`
	// Compared is false where there was no complete boundary: what was found is then not all there is.
	Compared bool `json:"compared"`
	// OtherTopicID is the topic ID that the file is for, where that is not the verified one; else empty.
	OtherTopicID string `json:"otherTopicId,omitempty"`
	// Missing are entries of the file that were not found, Unexpected ones that were found and are not in the file.
	Missing    []diagnostics.Entry `json:"missing"`
	Unexpected []diagnostics.Entry `json:"unexpected"`
}

// Diagnostics are all rejections and conflicts of the report as entries of expected diagnostics, sorted.
func (r *Report) Diagnostics() []diagnostics.Entry {
	entries := []diagnostics.Entry{}
	for _, j := range r.Rejections {
		entries = append(entries, diagnostics.Entry{Partition: j.Partition, Offset: j.Offset, Reason: j.Reason, Fingerprint: j.Fingerprint})
	}
	for _, c := range r.Conflicts {
		reason := diagnostics.Superseded
		if c.State == Ambiguous {
			reason = diagnostics.Ambiguous
		}
		for _, p := range c.Payloads {
			entries = append(entries, diagnostics.Entry{
				Partition: p.Partition, Offset: p.Offset, Reason: reason, Fingerprint: p.Fingerprint, Payload: p.Canonical,
			})
		}
	}
	slices.SortFunc(entries, diagnostics.Order)
	return entries
}

// Expect compares the report's diagnostics with expected ones and judges anew. The status stays what it is.
func (r *Report) Expect(file string, f *diagnostics.File) {
	e := &Expected{File: file, Name: f.Name, Missing: []diagnostics.Entry{}, Unexpected: []diagnostics.Entry{}}
	if e.Compared = r.Complete && len(r.Errors) == 0; e.Compared {
		e.Missing, e.Unexpected = diagnostics.Compare(f.Entries, r.Diagnostics())
	}
	if f.TopicID != "" && f.TopicID != r.Source.TopicID {
		e.OtherTopicID = f.TopicID
	}
	e.Exact = e.Compared && e.OtherTopicID == "" && len(e.Missing)+len(e.Unexpected) == 0
	r.Expected = e
	r.Judge()
}
