package conformance

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// Level is a place at which a scenario is run.
type Level string

// The levels, from the narrowest on.
const (
	// Core is the worker's pure core, and worker, relay and view in memory: no server.
	Core Level = "core"
	// Oracle is both engines over the same records: no server.
	Oracle Level = "oracle"
	// Store is worker, relay, view and verifier over Postgres, with topics in memory.
	Store Level = "store"
	// Pipeline is everything as `amendsctl run` and `amendsctl verify` put it together, over a broker.
	Pipeline Level = "pipeline"
)

// Levels are all levels in order.
func Levels() []Level { return []Level{Core, Oracle, Store, Pipeline} }

// The stages that steps name.
const (
	stageWorker = "worker"
	stageRelay  = "relay"
	stageView   = "view"
)

// Scenario is one file of the corpus, checked and completed. It is not changed after parsing.
type Scenario struct {
	// ID is SC01 to SC28.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Section is the part of the contract that the scenario is about.
	Section string `json:"section"`
	// Pending says why the scenario is not run yet; empty where it is.
	Pending string `json:"pending"`
	// Variants are never none: a file without variants has one, whose name is empty.
	Variants []Variant `json:"variants"`
}

// Variant is one course of events of a scenario.
type Variant struct {
	// Name is unique in its scenario.
	Name string `json:"name"`
	// Manifest is the configuration, resolved.
	Manifest *Configuration `json:"manifest"`
	// Levels are those at which the variant applies.
	Levels []Level `json:"levels"`
	// Pending is the scenario's, or the variant's own.
	Pending string `json:"pending"`
	Steps   []Step `json:"steps"`
	// Expect is the end.
	Expect Expectation `json:"expect"`
}

// Applies reports whether the variant is meant for a level.
func (v *Variant) Applies(level Level) bool { return slices.Contains(v.Levels, level) }

// Configuration is what a scenario fixes of its namespace. Name and topics are the implementation's own.
type Configuration struct {
	// LedgerOrigin is an RFC 3339 instant.
	LedgerOrigin string `json:"ledgerOrigin"`
	// Partitions and OutputPartitions are 1 where absent.
	Partitions       int32 `json:"partitions"`
	OutputPartitions int32 `json:"outputPartitions"`
	// MaxRecordBytes is the default of manifests where absent.
	MaxRecordBytes int64      `json:"maxRecordBytes"`
	StockKeys      []StockKey `json:"stockKeys"`
}

// StockKey is one configured key.
type StockKey struct {
	Item             string `json:"item"`
	Location         string `json:"location"`
	OpeningBalance   int64  `json:"openingBalance"`
	ReorderThreshold int64  `json:"reorderThreshold"`
}

// Namespace is the configuration under a name.
func (c *Configuration) Namespace(name string) (*manifests.Namespace, error) {
	spec := manifests.Spec{
		Source: manifests.Source{Topic: name + ".in", Partitions: c.Partitions, MaxRecordBytes: c.MaxRecordBytes},
		Output: manifests.Output{Topic: name + ".out", Partitions: c.OutputPartitions},
	}
	origin, err := instant(c.LedgerOrigin)
	if err != nil {
		return nil, err
	}
	spec.LedgerOrigin = origin
	for _, k := range c.StockKeys {
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey(k))
	}
	return manifests.New(name, spec)
}

// Step is one thing that happens: exactly one member is set.
type Step struct {
	// Produce appends records to the source topic.
	Produce []Record `json:"produce"`
	// Run lets stages work until each has reached the end of its input, or has stopped for good.
	Run []string `json:"run"`
	// Crash ends a stage at a point of its next unit of work.
	Crash *Point `json:"crash"`
	// Lose loses the answer to a stage's next write; the stage lives on and is run to its end.
	Lose *Point `json:"lose"`
	// Restart ends a stage between two units of work.
	Restart string `json:"restart"`
	// Rebalance gives all partitions to another owner while the worker is in the midst of its next unit of work.
	Rebalance *Rebalance `json:"rebalance"`
	// Deliver appends envelopes to the output topic.
	Deliver []Delivery `json:"deliver"`
	// Verify runs a verification.
	Verify *Verification `json:"verify"`
	// Check compares what is durable with the members that are given.
	Check *Expectation `json:"check"`
	// Trim removes the start of a source partition.
	Trim *Trim `json:"trim"`
	// Recreate deletes the source topic and creates it anew under the same name.
	Recreate string `json:"recreate"`
	// Refuse runs a stage, which must not do anything.
	Refuse string `json:"refuse"`
	// Change asks for the namespace under another configuration, which must be refused.
	Change *Configuration `json:"change"`
	// Replay reads processed records again, or is refused; nothing durable changes in either case.
	Replay *Replay `json:"replay"`
	// Rebuild fills a fresh namespace from the history, or is refused.
	Rebuild *Rebuild `json:"rebuild"`
}

// Record is one source record: a transaction in short, or raw bytes where Value or ValueBase64 is given.
type Record struct {
	Txn        string `json:"txn"`
	Rev        int64  `json:"rev"`
	Kind       string `json:"kind"`
	Item       string `json:"item"`
	Location   string `json:"location"`
	Time       string `json:"time"`
	Qty        int64  `json:"qty"`
	SourceTime string `json:"source_time"`
	// Key, Value and the base64 forms are raw bytes; null is a null key or value. A Key beside a transaction replaces
	// its broker key.
	Key         jsontext.Value `json:"key"`
	KeyBase64   string         `json:"key_base64"`
	Value       jsontext.Value `json:"value"`
	ValueBase64 string         `json:"value_base64"`
	// Partition is that of the key's mapping where absent.
	Partition *int32 `json:"partition"`
}

// Point is a place in a stage's unit of work.
type Point struct {
	Stage string `json:"stage"`
	At    string `json:"at"`
}

// Rebalance says where the old owner stands when the new one is installed: at begin or at commit.
type Rebalance struct {
	At string `json:"at"`
}

// Delivery is one envelope to deliver: the n-th that the worker committed, from 1 on, or a hand-made one.
type Delivery struct {
	Nth      int64     `json:"nth"`
	Envelope *Envelope `json:"envelope"`
}

// Verification is one run of the verifier.
type Verification struct {
	Expect report.Status `json:"expect"`
	// Conflicts are the unresolved conflicts that the report must list; not compared where absent.
	Conflicts []projection.Conflict `json:"conflicts"`
	// During are records that a hostile writer appends while the verification compares.
	During []Record `json:"during"`
	// Diagnostics are the rejections and conflicting payloads that the verification is told to expect, no more and no
	// fewer (R24); not told where absent.
	Diagnostics []diagnostics.Entry `json:"diagnostics"`
	// Ends says whether the verification ends with exit code 0, success or failure; not compared where absent.
	Ends string `json:"ends"`
}

// Trim says which part of a partition is removed.
type Trim struct {
	Partition int32 `json:"partition"`
	// Before is exclusive.
	Before int64 `json:"before"`
}

// Expectation is what must be found; members that are absent are not compared.
type Expectation struct {
	// Balances, Alerts and Statuses are the certified state (S5, S7).
	Balances []projection.Balance `json:"balances"`
	Alerts   []projection.Alert   `json:"alerts"`
	Statuses []projection.Status  `json:"statuses"`
	// SupersededConflicts, Rejections and OutOfDomain are the diagnostics (S3, S4).
	SupersededConflicts []projection.Conflict    `json:"supersededConflicts"`
	Rejections          []projection.Rejection   `json:"rejections"`
	OutOfDomain         []projection.OutOfDomain `json:"outOfDomain"`
	// Retained are the rows that the view still shows of keys that are not certified (R13).
	Retained *Facts `json:"retained"`
	// Envelopes are all that the worker committed, in order within each source partition.
	Envelopes []Envelope `json:"envelopes"`
	// Frontiers and ViewFrontiers are the exclusive positions of worker and view, by partition.
	Frontiers     []int64 `json:"frontiers"`
	ViewFrontiers []int64 `json:"viewFrontiers"`
	// Stopped is the stage and record at which a partition stopped for good.
	Stopped *Stop `json:"stopped"`
	// Verdict is that of the verification after the last step.
	Verdict report.Status `json:"verdict"`
}

// Facts are business rows.
type Facts struct {
	Balances []projection.Balance `json:"balances"`
	Alerts   []projection.Alert   `json:"alerts"`
}

// Stop is a partition that stopped for good.
type Stop struct {
	Stage     string `json:"stage"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

// Envelope is an output message with what matters of its payload.
type Envelope struct {
	Type string `json:"type"`
	// OutputID is the output's identity within the namespace: family, item, location and, but for a status, day.
	OutputID []string `json:"output_id"`
	Version  int64    `json:"version"`
	// Close, Threshold, Status and Conflicts are the payload's; a withdrawal has none.
	Close     *int64                   `json:"close"`
	Threshold *int64                   `json:"threshold"`
	Status    string                   `json:"status"`
	Conflicts []projection.ConflictRef `json:"conflicts"`
	// Cause is the revision that triggered the message; not compared where absent.
	Cause *projection.ConflictRef `json:"cause"`
}

// TraceName is the file beside the scenario that holds every envelope of the variant, byte for byte.
func (v *Variant) TraceName() string {
	if v.Name == "" {
		return "trace.jsonl"
	}
	words := strings.FieldsFunc(strings.ToLower(v.Name), func(r rune) bool { return r == ' ' || r == ',' })
	return "trace-" + strings.Join(words, "-") + ".jsonl"
}
