package view

// The message types of S7.
const (
	typeBalanceStated    = "BalanceStated"
	typeBalanceRetracted = "BalanceRetracted"
	typeAlertRaised      = "AlertRaised"
	typeAlertRetracted   = "AlertRetracted"
	typeKeyStatusStated  = "KeyStatusStated"
)

// schemaVersion is the envelope schema this package reads (R03).
const schemaVersion = 1

// message is an envelope as its bytes spell it, before it is judged against the namespace.
type message struct {
	cause         *cause
	namespace     []byte
	id            outputID
	payload       *payload
	schemaVersion int64
	source        source
	kind          []byte
	version       int64
}

// cause is the identity and revision that triggered the output (S7).
type cause struct {
	revision int64
	txnID    []byte
}

// source holds the coordinates of the triggering record.
type source struct {
	offset, partition int64
	topicID           []byte
}

// outputID is the tuple that names an output; day is nil for a key status.
type outputID struct {
	namespace, family, item, location, day []byte
	// raw is the whole tuple as it is spelled.
	raw []byte
}

// payload is any of the three payloads; the fields that its family lacks stay zero.
type payload struct {
	close, threshold    int64
	day, item, location []byte
	status              []byte
	conflicts           []conflict
}

// conflict is one entry of a status payload's reason set (R10).
type conflict struct {
	revision int64
	txnID    []byte
}

// readMessage reads the one canonical spelling of an envelope (design section 3).
func readMessage(value []byte) (message, error) {
	s := scanner{data: value}
	var m message
	s.literal(`{"cause":`)
	m.cause = s.cause()
	s.literal(`,"namespace":`)
	m.namespace = s.text()
	s.literal(`,"output_id":`)
	m.id = s.outputID()
	s.literal(`,"payload":`)
	m.payload = s.payload(string(m.id.family))
	s.literal(`,"schema_version":`)
	m.schemaVersion = s.integer()
	s.literal(`,"source":{"offset":`)
	m.source.offset = s.integer()
	s.literal(`,"partition":`)
	m.source.partition = s.integer()
	s.literal(`,"topic_id":`)
	m.source.topicID = s.text()
	s.literal(`},"type":`)
	m.kind = s.text()
	s.literal(`,"version":`)
	m.version = s.integer()
	s.literal(`}`)
	s.end()
	return m, s.err
}

func (s *scanner) cause() *cause {
	if s.accept("null") {
		return nil
	}
	var c cause
	s.literal(`{"revision":`)
	c.revision = s.integer()
	s.literal(`,"txn_id":`)
	c.txnID = s.text()
	s.literal(`}`)
	return &c
}

func (s *scanner) outputID() outputID {
	var id outputID
	start := s.pos
	s.literal(`[`)
	id.namespace = s.text()
	s.literal(`,`)
	id.family = s.text()
	s.literal(`,`)
	id.item = s.text()
	s.literal(`,`)
	id.location = s.text()
	if s.accept(`,`) {
		id.day = s.text()
	}
	s.literal(`]`)
	id.raw = s.data[start:s.pos]
	return id
}

// payload reads null, which withdraws, or the payload of the family.
func (s *scanner) payload(family string) *payload {
	if s.accept("null") {
		return nil
	}
	var p payload
	if family == FamilyStatus.String() {
		s.literal(`{"conflicts":`)
		p.conflicts = s.conflicts()
		s.literal(`,"item":`)
	} else {
		s.literal(`{"close":`)
		p.close = s.integer()
		s.literal(`,"day":`)
		p.day = s.text()
		s.literal(`,"item":`)
	}
	p.item = s.text()
	s.literal(`,"location":`)
	p.location = s.text()
	switch family {
	case FamilyStatus.String():
		s.literal(`,"status":`)
		p.status = s.text()
	case FamilyAlert.String():
		s.literal(`,"threshold":`)
		p.threshold = s.integer()
	}
	s.literal(`}`)
	return &p
}

func (s *scanner) conflicts() []conflict {
	s.literal(`[`)
	if s.accept(`]`) {
		return nil
	}
	var all []conflict
	for s.err == nil {
		s.literal(`{"revision":`)
		revision := s.integer()
		s.literal(`,"txn_id":`)
		all = append(all, conflict{revision: revision, txnID: s.text()})
		s.literal(`}`)
		if !s.accept(`,`) {
			break
		}
	}
	s.literal(`]`)
	return all
}
