package replay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"

	"amends.dev/amends/stages/replay"
)

// preview is what a dry run prints.
type preview struct {
	Namespace string `json:"namespace"`
	DryRun    bool   `json:"dryRun"`
	replay.Range
	Topic    string   `json:"topic"`
	TopicID  string   `json:"topicId"`
	Retained retained `json:"retained"`
	Frontier int64    `json:"frontier"`
	Owner    owner    `json:"owner"`
	// Effect is in words.
	Effect string `json:"effect"`
}

// retained is what the topic holds of the partition, without End.
type retained struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// owner is the partition's.
type owner struct {
	Member     string `json:"member"`
	Generation int32  `json:"generation"`
	Epoch      int64  `json:"epoch"`
	// Interrupted says that a replay holds the partition back from this owner: it still runs, or was killed.
	Interrupted bool `json:"interrupted"`
}

func newPreview(namespace string, r replay.Range, f replay.Facts) preview {
	p := preview{
		Namespace: namespace, DryRun: true, Range: r, Topic: f.Topic, TopicID: f.TopicID, Frontier: f.State.NextOffset,
		Retained: retained{Start: f.Found.Starts[r.Partition], End: f.Found.Ends[r.Partition]},
		Owner:    owner{Member: f.State.Member, Generation: f.State.Generation, Epoch: f.State.Epoch},
	}
	if h, held := replay.HeldBy(f.State); held {
		p.Owner.Member, p.Owner.Generation, p.Owner.Interrupted = h.Member, h.Generation, true
	}
	p.Effect = fmt.Sprintf("%d offsets are read again and compared with state; the owner waits meanwhile, under epoch %d, and goes on "+
		"at frontier %d; nothing is published and nothing of the state changes", r.To-r.From, f.State.Epoch+1, f.State.NextOffset)
	return p
}

// writePreview prints what a replay would do.
func (o *options) writePreview(namespace string, f replay.Facts) error {
	p := newPreview(namespace, o.span, f)
	if o.asJSON {
		return o.writeJSON(p)
	}
	held := p.Owner.Member
	switch {
	case held == "":
		held = "none"
	default:
		held = fmt.Sprintf("%s, generation %d", held, p.Owner.Generation)
	}
	if p.Owner.Interrupted {
		held += "; held back by a replay that runs or was killed, whose place this one takes"
	}
	return o.table(fmt.Sprintf("dry run: replay of %s of namespace %s", o.span, namespace), [][2]string{
		{"topic", p.Topic + ", ID " + p.TopicID},
		{"retained", fmt.Sprintf("[%d, %d)", p.Retained.Start, p.Retained.End)},
		{"frontier", strconv.FormatInt(p.Frontier, 10)},
		{"epoch", strconv.FormatInt(p.Owner.Epoch, 10)},
		{"owner", held},
		{"effect", p.Effect},
	})
}

// writeReport prints what a replay found.
func (o *options) writeReport(r replay.Report) error {
	if o.asJSON {
		return o.writeJSON(r)
	}
	title := fmt.Sprintf("replay of %s of namespace %s: every record confirmed", r.Range, r.Namespace)
	if r.Fault != nil {
		title = fmt.Sprintf("replay of %s of namespace %s: state is not intact at offset %d", r.Range, r.Namespace, r.Fault.Offset)
	}
	rows := [][2]string{
		{"re-read", strconv.FormatInt(r.Reread, 10)},
		{"confirmed", strconv.FormatInt(r.Confirmed, 10)},
		{"  authoritative", strconv.FormatInt(r.Kinds.Authoritative, 10)},
		{"  superseded", strconv.FormatInt(r.Kinds.Superseded, 10)},
		{"  duplicate", strconv.FormatInt(r.Kinds.Duplicate, 10)},
		{"  conflicting", strconv.FormatInt(r.Kinds.Conflicting, 10)},
		{"  quarantined", strconv.FormatInt(r.Kinds.Quarantined, 10)},
		{"frontier", fmt.Sprintf("%d, unchanged", r.Frontier)},
		{"held under epoch", strconv.FormatInt(r.Epoch, 10)},
	}
	if r.StartedAt > r.From {
		rows = append(rows, [2]string{"went on at", fmt.Sprintf("%d, where an interrupted replay of the range had come to", r.StartedAt)})
	}
	return o.table(title, rows)
}

// table prints a title and rows of a name and a value.
func (o *options) table(title string, rows [][2]string) error {
	table := tabwriter.NewWriter(o.app.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, title) // Flush reports the error
	for _, row := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (o *options) writeJSON(value any) error {
	encoder := json.NewEncoder(o.app.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
