package status

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/run"
	"amends.dev/amends/stages/view"
)

// writeText prints one line for each partition of each stage. A number that is not known is a dash.
func writeText(w io.Writer, d Document) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format, args...) } // Flush reports the error
	line("namespace %s\n", d.Namespace)
	line("STAGE\tPARTITION\tFRONTIER\tEND\tLAG\tAGE\tEPOCH\tOWNER\tSTATE\n")
	for _, s := range d.Stages {
		line("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Stage, s.Partition, s.Frontier, number(s.End), number(s.LagRecords),
			age(s.LagSeconds), number(nonzero(s.Epoch)), orDash(s.Owner), state(s))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	if err := writeWriter(w, d.Writer); err != nil {
		return err
	}
	return writeGrowth(w, d.Growth)
}

// writeWriter prints who holds the writer lease, and the accepted requests that wait.
func writeWriter(w io.Writer, d Writer) error {
	state := "held"
	switch {
	case d.Holder == "":
		state = "free"
	case d.StopRequested:
		state = "asked to stop"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "WRITER\tTERM\tSTATE\tTO PUBLISH\tTO DELIVER\n%s\t%s\t%s\t%d\t%d\n", // Flush reports the error
		orDash(d.Holder), number(nonzero(d.Term)), state, d.Requests.ToPublish, d.Requests.ToDeliver)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// writeGrowth prints the sizes of what is never collected.
func writeGrowth(w io.Writer, growth []postgres.Growth) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "GROWTH\tTABLE ROWS\tBYTES") // Flush reports the error
	for _, g := range growth {
		rows := strconv.FormatInt(g.Rows, 10)
		if g.Estimated {
			rows = "about " + rows
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\n", g.Part, rows, g.Bytes)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func nonzero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func age(seconds *int64) string {
	if seconds == nil {
		return "-"
	}
	return (time.Duration(*seconds) * time.Second).String()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// state says in words how a partition stands. Views have no owners: whoever materializes holds a lock only while it does.
func state(s run.Status) string {
	switch lag := s.LagRecords; {
	case s.Stall != nil:
		return why(s.Stall)
	case lag != nil && *lag == 0:
		return "drained"
	case s.Owner == "" && s.Stage != view.Stage:
		return "behind, and nobody owns it"
	default:
		return "behind"
	}
}

// why says in words why a partition does not move, and since when, where that is known.
func why(stall *fault.Stall) string {
	text := "stalled"
	if stall.NextTry.IsZero() {
		text = "stopped"
	}
	if !stall.Since.IsZero() {
		text += " since " + stall.Since.UTC().Format(time.RFC3339)
	}
	text += ": " + stall.Reason
	if stall.Process != "" {
		text += ", says process " + stall.Process
	}
	return text
}
