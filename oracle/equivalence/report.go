package equivalence

import (
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
)

// Status is the outcome of a comparison.
type Status string

// The statuses. Only a complete boundary allows Equal or Drift; a persisted stop is Error at once (R21).
const (
	Equal      Status = "EQUAL"
	Drift      Status = "DRIFT"
	Incomplete Status = "INCOMPLETE"
	Error      Status = "ERROR"
)

// Report is the outcome of one comparison.
type Report struct {
	SchemaVersion int    `json:"schemaVersion"`
	Status        Status `json:"status"`
	ExitCode      int    `json:"exitCode"`
	Old           Side   `json:"old"`
	New           Side   `json:"new"`
	// Experiment says that the two have different business configurations, so that differences are expected (R02).
	Experiment bool `json:"experiment"`
	// SourceTopicID and Through are the history that both have processed: from 0 to H, by partition; H is empty where they
	// did not agree on one.
	SourceTopicID string  `json:"sourceTopicId"`
	Through       []int64 `json:"through"`
	// BlockedKeys are not compared but for their status: they are BLOCKED in one of the two, or both.
	BlockedKeys int64        `json:"blockedKeys"`
	Counts      Counts       `json:"counts"`
	Differences []Difference `json:"differences"`
	// Reasons say why there is no comparison: of Incomplete and Error.
	Reasons []string `json:"reasons"`
}

// Side is one of the two namespaces.
type Side struct {
	Namespace      string `json:"namespace"`
	Digest         string `json:"digest"`
	BusinessDigest string `json:"businessDigest"`
	// BuiltBy is what built its state (R26), ExperimentOf the namespace of which it is an experiment.
	BuiltBy      string `json:"builtBy"`
	ExperimentOf string `json:"experimentOf,omitempty"`
	// Worker and View are its frontiers.
	Worker []int64 `json:"worker"`
	View   []int64 `json:"view"`
}

// Counts are the tallies of each family: what is called the oracle's there is the old namespace's, the view's the new one's.
type Counts struct {
	Balances Tally `json:"balances"`
	Alerts   Tally `json:"alerts"`
	Statuses Tally `json:"statuses"`
}

// Tally counts the facts of one family.
type Tally struct {
	// Old and New count the facts that each side has and that were compared.
	Old   int64 `json:"old"`
	New   int64 `json:"new"`
	Equal int64 `json:"equal"`
	// Changed facts are in both, with different values; Missing only in the old, Extra only in the new one.
	Changed int64 `json:"changed"`
	Missing int64 `json:"missing"`
	Extra   int64 `json:"extra"`
	// Uncertified counts rows of the new namespace's BLOCKED keys.
	Uncertified int64 `json:"uncertified"`
}

func tallyOf(t compare.Tally) Tally {
	return Tally{Old: t.Oracle, New: t.View, Equal: t.Equal, Changed: t.Changed, Missing: t.Missing, Extra: t.Extra, Uncertified: t.Uncertified}
}

// Difference is one disagreement. Old or New is nil where that side does not have the fact.
type Difference struct {
	Kind     compare.Kind   `json:"kind"`
	Family   compare.Family `json:"family"`
	Item     string         `json:"item"`
	Location string         `json:"location"`
	// Day is YYYY-MM-DD, of balances and alerts.
	Day string         `json:"day,omitempty"`
	Old *compare.Value `json:"old"`
	New *compare.Value `json:"new"`
}

// differences renames the sides of a collector's list.
func differences(listed []compare.Difference) []Difference {
	out := make([]Difference, 0, len(listed))
	for _, d := range listed {
		out = append(out, Difference{Kind: d.Kind, Family: d.Family, Item: d.Item, Location: d.Location, Day: d.Day, Old: d.Oracle, New: d.View})
	}
	return out
}

// stopText is a persisted stop in words.
func stopText(namespace string, s boundary.Stop) string {
	return "namespace " + namespace + ": " + string(s.Phase) + " stopped: " + s.Reason + ": " + s.Detail
}
