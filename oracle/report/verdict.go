package report

import (
	"fmt"

	"amends.dev/amends/oracle/boundary"
)

// Verdict is the first line's explanation of the status, in one sentence.
func Verdict(r *Report) string {
	c := r.Counts
	switch r.Status {
	case Error:
		if len(r.Errors) > 0 {
			return firstOf(r.Errors)
		}
		return fmt.Sprintf("%s outside int64", plural(int64(len(r.OutOfDomain)), "day closes", "days close"))
	case Incomplete:
		if len(r.Incomplete) == 0 {
			return "the boundary was not reached"
		}
		text := firstOf(r.Incomplete)
		if c.AmbiguousConflicts > 0 {
			text += fmt.Sprintf("; %s known", plural(c.AmbiguousConflicts, "unresolved conflict is", "unresolved conflicts are"))
		}
		return text
	case Blocked:
		return fmt.Sprintf("%s be certified (%s); %s on the rest",
			plural(c.BlockedKeys, "key cannot", "keys cannot"),
			plural(c.AmbiguousConflicts, "ambiguous revision", "ambiguous revisions"),
			plural(c.Differences, "difference", "differences"))
	case Drift:
		return fmt.Sprintf("%s; %s", plural(c.Differences, "difference", "differences"), compared(c))
	case Exclusions:
		return fmt.Sprintf("no difference, with %s and %s; %s", plural(c.Rejections, "rejection", "rejections"),
			plural(c.SupersededConflicts, "superseded conflict", "superseded conflicts"), compared(c))
	default:
		return "no difference; " + compared(c)
	}
}

// compared says how much the verdict rests on; an empty history is said in so many words (B124).
func compared(c Counts) string {
	return fmt.Sprintf("%s compared: %s, %s, %s", plural(c.Records, "record", "records"),
		plural(c.Balances.Oracle, "balance", "balances"), plural(c.Alerts.Oracle, "alert", "alerts"),
		plural(c.Statuses.Oracle, "status", "statuses"))
}

// describe shows one reason.
func describe(r boundary.Reason) string {
	text := string(r.Phase) + ": "
	if r.Partition != nil {
		text += fmt.Sprintf("partition %d: ", *r.Partition)
	}
	return text + r.Reason
}

// firstOf shows the first of several reasons and counts the others.
func firstOf(reasons []boundary.Reason) string {
	text := describe(reasons[0])
	if n := len(reasons) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// plural is a count with its noun.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
