package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
)

// differenceLine is a difference on one line.
func differenceLine(d compare.Difference) string {
	return fmt.Sprintf("%s %s %s: oracle %s, view %s", d.Kind, d.Family, subject(d), value(d.Oracle), value(d.View))
}

// conflictLine is a conflict on one line.
func conflictLine(c Conflict) string {
	state := c.State
	if state == Ambiguous {
		state += "; the key is BLOCKED and its retained values are uncertified"
	}
	return fmt.Sprintf("%s %s revision %d: %s", keyName(c.Item, c.Location), plain(c.TxnID), c.Revision, state)
}

// totals are the counts that are no family's, on one line.
func totals(c Counts) string {
	return fmt.Sprintf("%s, %s, %s, %d ambiguous and %d superseded conflicts, %s BLOCKED", plural(c.Records, "record", "records"),
		plural(c.Differences, "difference", "differences"), plural(c.Rejections, "rejection", "rejections"),
		c.AmbiguousConflicts, c.SupersededConflicts, plural(c.BlockedKeys, "key", "keys"))
}

// rejectionLine is a rejection on one line.
func rejectionLine(j Rejection) string {
	return fmt.Sprintf("partition %d offset %d: %s (fingerprint %s)", j.Partition, j.Offset, j.Reason, j.Fingerprint)
}

// outOfDomainLine is a day outside int64 on one line.
func outOfDomainLine(d projection.OutOfDomain) string {
	return fmt.Sprintf("%s %s: close %s", keyName(d.Item, d.Location), d.Day, d.Close)
}

// expectation says in words how diagnostics compare with expected ones.
func expectation(e *Expected) string {
	switch {
	case e.Exact:
		return "exactly those of " + plain(e.Name)
	case e.Compared:
		return "not those of " + plain(e.Name)
	default:
		return "not compared with " + plain(e.Name) + ", the boundary is not complete"
	}
}

// subject names the fact that a difference is about.
func subject(d compare.Difference) string {
	switch d.Family {
	case compare.FamilyQuarantine:
		if d.Partition == nil || d.Offset == nil {
			return "unknown record"
		}
		return fmt.Sprintf("partition %d offset %d", *d.Partition, *d.Offset)
	case compare.FamilyConflict:
		return fmt.Sprintf("%s %s revision %d", keyName(d.Item, d.Location), plain(d.TxnID), d.Revision)
	case compare.FamilyBalance, compare.FamilyAlert, compare.FamilyStatus, compare.FamilyKey, compare.FamilyGuard:
	}
	if d.Day == "" { // statuses, stock keys, and the guards of statuses
		return keyName(d.Item, d.Location)
	}
	return keyName(d.Item, d.Location) + " " + d.Day
}

// value shows one side of a difference.
func value(v *compare.Value) string {
	if v == nil {
		return "none"
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if v.Close != nil {
		add("close=%d", *v.Close)
	}
	if v.Threshold != nil {
		add("threshold=%d", *v.Threshold)
	}
	if v.Status != "" {
		add("%s", v.Status)
	}
	for _, c := range v.Conflicts {
		add("%s@%d", plain(c.TxnID), c.Revision)
	}
	if v.Reason != "" {
		add("%s", v.Reason)
	}
	if v.TopicID != "" {
		add("topic=%s", v.TopicID)
	}
	if v.Key != nil && v.Value != nil {
		add("key=%s", blob(*v.Key))
		add("value=%s", blob(*v.Value))
	}
	if v.Recorded {
		add("recorded")
	}
	if v.Payload != "" {
		add("%s", canonical(v.Payload))
	}
	if v.Fault != "" {
		add("%s", v.Fault)
	}
	return strings.Join(parts, " ")
}

// canonical shows a canonical payload as it is where all of its characters can be seen, else quoted.
func canonical(payload string) string {
	if strings.IndexFunc(payload, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
		return strconv.QuoteToASCII(payload)
	}
	return payload
}

// blob shows the length and the beginning of the digest of raw bytes.
func blob(b compare.Blob) string {
	switch {
	case b.Length < 0:
		return "null"
	case b.SHA256 == "":
		return fmt.Sprintf("%dB(not kept)", b.Length)
	default:
		return fmt.Sprintf("%dB:%s", b.Length, b.SHA256[:min(12, len(b.SHA256))])
	}
}
