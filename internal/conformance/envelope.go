package conformance

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// wire is an envelope as it is published, in canonical member order (design section 3).
type wire struct {
	Cause         *causeRef      `json:"cause"`
	Namespace     string         `json:"namespace"`
	OutputID      []string       `json:"output_id"`
	Payload       jsontext.Value `json:"payload"`
	SchemaVersion int64          `json:"schema_version"`
	Source        wireSource     `json:"source"`
	Type          string         `json:"type"`
	Version       int64          `json:"version"`
}

type causeRef struct {
	Revision int64  `json:"revision"`
	TxnID    string `json:"txn_id"`
}

type wireSource struct {
	Offset    int64  `json:"offset"`
	Partition int32  `json:"partition"`
	TopicID   string `json:"topic_id"`
}

// fact is the payload of a balance or alert, status that of a key status, in canonical member order.
type fact struct {
	Close     int64  `json:"close"`
	Day       string `json:"day"`
	Item      string `json:"item"`
	Location  string `json:"location"`
	Threshold *int64 `json:"threshold,omitempty"`
}

type status struct {
	Conflicts []causeRef `json:"conflicts"`
	Item      string     `json:"item"`
	Location  string     `json:"location"`
	Status    string     `json:"status"`
}

// readEnvelope reads a published envelope. That its namespace, key and payload agree with its output ID is part of the
// protocol, so it is an error where they do not.
func readEnvelope(ns *manifests.Namespace, value []byte) (e Envelope, partition int32, err error) {
	var w wire
	if err := decode(value, &w); err != nil {
		return e, 0, fmt.Errorf("envelope %s: %w", value, err)
	}
	if len(w.OutputID) < 4 || w.OutputID[0] != ns.Name || w.Namespace != ns.Name {
		return e, 0, fmt.Errorf("envelope %s is not of namespace %s", value, ns.Name)
	}
	e = Envelope{Type: w.Type, OutputID: w.OutputID[1:], Version: w.Version}
	if w.Cause != nil {
		e.Cause = &projection.ConflictRef{TxnID: w.Cause.TxnID, Revision: w.Cause.Revision}
	}
	if w.Payload.Kind() == 'n' {
		return e, w.Source.Partition, nil
	}
	item, location := e.OutputID[1], e.OutputID[2]
	var agrees bool
	if e.OutputID[0] == "key-status" {
		var s status
		err = decode(w.Payload, &s)
		agrees = s.Item == item && s.Location == location
		e.Status = s.Status
		for _, c := range s.Conflicts {
			e.Conflicts = append(e.Conflicts, projection.ConflictRef{TxnID: c.TxnID, Revision: c.Revision})
		}
	} else {
		var f fact
		err = decode(w.Payload, &f)
		agrees = f.Item == item && f.Location == location && f.Day == e.OutputID[3]
		e.Close, e.Threshold = &f.Close, f.Threshold
	}
	if err == nil && !agrees {
		err = fmt.Errorf("the payload contradicts the output ID")
	}
	if err != nil {
		return e, 0, fmt.Errorf("envelope %s: %w", value, err)
	}
	return e, w.Source.Partition, nil
}

// message renders a hand-made envelope: its own canonical bytes, attributed to the start of the source.
func (e *Envelope) message(ns *manifests.Namespace, sourceTopicID string) (broker.Message, error) {
	if len(e.OutputID) < 3 {
		return broker.Message{}, fmt.Errorf("output ID %v", e.OutputID)
	}
	item, location := e.OutputID[1], e.OutputID[2]
	w := wire{
		Namespace: ns.Name, OutputID: append([]string{ns.Name}, e.OutputID...), Payload: jsontext.Value("null"), SchemaVersion: 1,
		Source: wireSource{TopicID: sourceTopicID}, Type: e.Type, Version: e.Version,
	}
	if e.Cause != nil {
		w.Cause = &causeRef{Revision: e.Cause.Revision, TxnID: e.Cause.TxnID}
	}
	var err error
	switch {
	case e.Status != "":
		s := status{Conflicts: []causeRef{}, Item: item, Location: location, Status: e.Status}
		for _, c := range e.Conflicts {
			s.Conflicts = append(s.Conflicts, causeRef{Revision: c.Revision, TxnID: c.TxnID})
		}
		w.Payload, err = json.Marshal(s)
	case e.Close != nil && len(e.OutputID) == 4:
		w.Payload, err = json.Marshal(fact{Close: *e.Close, Day: e.OutputID[3], Item: item, Location: location, Threshold: e.Threshold})
	}
	if err != nil {
		return broker.Message{}, err
	}
	value, err := json.Marshal(w)
	if err != nil {
		return broker.Message{}, err
	}
	brokerKey := ledger.BrokerKey(item, location)
	return broker.Message{Partition: ledger.PartitionOf(brokerKey, ns.Spec.Output.Partitions), Key: brokerKey, Value: value}, nil
}

// String shows an envelope on one line.
func (e Envelope) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v version %d", e.Type, e.OutputID, e.Version)
	if e.Close != nil {
		fmt.Fprintf(&b, " close %d", *e.Close)
	}
	if e.Threshold != nil {
		fmt.Fprintf(&b, " threshold %d", *e.Threshold)
	}
	if e.Status != "" {
		fmt.Fprintf(&b, " %s %v", e.Status, e.Conflicts)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, " because of %s revision %d", e.Cause.TxnID, e.Cause.Revision)
	}
	return b.String()
}

// matches reports whether an actual envelope is the expected one.
func (e Envelope) matches(actual Envelope) bool {
	if e.Cause == nil {
		actual.Cause = nil
	}
	return e.String() == actual.String()
}
