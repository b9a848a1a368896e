package generate

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"strconv"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

const dayNanos = 86_400_000_000_000

// Record is one source record to publish.
type Record struct {
	// Partition is where the fixed mapping puts the key; a misrouted malformed record is elsewhere.
	Partition int32
	// Key and Value are the record's bytes; a nil Value is a null one. They are not changed afterwards.
	Key, Value []byte
	// Class is what the record is there for.
	Class Class
}

// Stream is the sequence of records. It is used by one goroutine.
type Stream struct {
	spec     manifests.Spec
	options  Options
	random   random
	urn      urn
	story    story
	accounts []*account
	// dated are the accounts with activity after the first day, which a transaction can be backdated before.
	dated []*account
	txns  transactions
	// emitted and opened count the records and the transactions so far.
	emitted, opened int64
	counts          Counts
}

// NewStream prepares the stream of the options for a namespace. The error says what is wrong with the options, or that
// no configured key can take part.
func NewStream(ns *manifests.Namespace, options Options) (*Stream, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	// A day more than is drawn leaves room for the story of SC02 and for times that conflicts shift.
	if ns.Spec.LedgerOrigin > math.MaxInt64-(int64(options.Days)+4)*dayNanos {
		return nil, fmt.Errorf("--days: %d days after the ledger origin %s there are no instants", options.Days, ns.Spec.LedgerOriginText())
	}
	mark.Hit("generate.1 seeded by the options alone")
	s := &Stream{spec: ns.Spec, options: options, random: random{state: options.Seed}, urn: urn{left: options.counts()}}
	wanted := options.Keys
	if wanted == 0 || wanted > len(s.spec.StockKeys) {
		wanted = len(s.spec.StockKeys)
	}
	var unusable []error
	told := s.findStory()
	if told != nil {
		wanted--
	}
	for id := range s.spec.StockKeys {
		if len(s.accounts) == wanted {
			break
		}
		if told != nil && told.keyID == int32(id) {
			continue
		}
		a, err := newAccount(s.spec, int32(id))
		if err != nil {
			unusable = append(unusable, err)
			continue
		}
		s.accounts = append(s.accounts, a)
	}
	if len(s.accounts) == 0 && told != nil {
		s.accounts = append(s.accounts, told) // the only key: the story shares it
	}
	if len(s.accounts) == 0 {
		return nil, errors.Join(append([]error{errors.New("no stock key can take part")}, unusable[:min(3, len(unusable))]...)...)
	}
	return s, nil
}

// All yields the remaining records.
func (s *Stream) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for {
			r, ok := s.Next()
			if !ok || !yield(r) {
				return
			}
		}
	}
}

// Counts are the records so far by class.
func (s *Stream) Counts() Counts { return s.counts }

// Total is the number of records of the whole stream.
func (s *Stream) Total() int64 { return s.options.Count }

// Next returns the next record, false after the last.
func (s *Stream) Next() (Record, bool) {
	if s.emitted == s.options.Count {
		return Record{}, false
	}
	record, ok := s.tell()
	if !ok {
		record = s.draw()
	}
	s.emitted++
	s.counts[record.Class]++
	return record, true
}

// draw makes one record of a drawn class. A class that its transaction cannot afford (S3) comes out as New.
func (s *Stream) draw() Record {
	class := s.urn.draw(&s.random, s.possible)
	record, ok := Record{}, false
	switch class {
	case New:
	case Backdate:
		a := s.dated[s.random.below(int64(len(s.dated)))]
		record, ok = s.open(Backdate, a, s.random.below(a.lastDay)), true
	case Amend, Move, Cancel:
		record, ok = s.correct(class, s.txns.any(&s.random))
	case Duplicate:
		t := s.txns.any(&s.random)
		record, ok = s.send(Duplicate, t.account, t.txnID, t.payload())
	case Stale:
		record, ok = s.late(s.txns.anyStale(&s.random))
	case Conflict:
		record, ok = s.contradict(s.txns.any(&s.random))
	case Malformed:
		record, ok = s.malformed(), true
	}
	if ok {
		return record
	}
	return s.open(New, s.anyAccount(), s.today())
}

// possible reports whether a class can occur now.
func (s *Stream) possible(class Class) bool {
	switch class {
	case Backdate:
		return len(s.dated) > 0
	case Amend, Cancel, Duplicate, Conflict:
		return len(s.txns.kept) > 0
	case Move:
		return len(s.txns.kept) > 0 && s.options.Days > 1
	case Stale:
		return s.txns.stale > 0
	default:
		return true
	}
}

func (s *Stream) anyAccount() *account { return s.accounts[s.random.below(int64(len(s.accounts)))] }

// today is the day that the stream has come to: it passes all days at an even pace.
func (s *Stream) today() int64 {
	high, low := bits.Mul64(uint64(s.emitted), uint64(s.options.Days))
	day, _ := bits.Div64(high, low, uint64(s.options.Count)) // emitted < count, so the quotient is below Days
	return int64(day)
}

// open begins a transaction on a day.
func (s *Stream) open(class Class, a *account, day int64) Record {
	s.opened++
	t := &transaction{account: a, txnID: "s" + strconv.FormatUint(s.options.Seed, 10) + "-" + strconv.FormatInt(s.opened, 10),
		latest: ledger.Payload{Revision: 1, Kind: ledger.KindNew, ValidTime: s.instant(day), Qty: a.quantity(&s.random)}}
	if s.random.oneIn(32) { // a late start: the first revision was lost on the way, and may arrive yet
		t.skipped, t.latest.Revision = 1, 2
	}
	if a.lastDay < 1 && day >= 1 {
		s.dated = append(s.dated, a)
	}
	a.lastDay = max(a.lastDay, day)
	a.running += t.latest.Qty
	s.txns.add(&s.random, t)
	record, _ := s.send(class, a, t.txnID, t.latest) // quantity has seen to it that the account affords it
	return record
}

// correct sends a higher revision of a transaction.
func (s *Stream) correct(class Class, t *transaction) (Record, bool) {
	next := t.latest
	next.Kind = ledger.KindAmend
	switch class {
	case Amend:
		next.Qty = t.account.quantity(&s.random)
		if next.Qty == t.latest.Qty && next.Qty != 0 {
			next.Qty /= 2
		}
	case Move:
		next.ValidTime = s.instant(s.otherDay(t.latest.ValidTime))
	default:
		next.Kind = ledger.KindCancel
	}
	if next.Kind != ledger.KindCancel && !t.account.affords(next.Qty) {
		return Record{}, false
	}
	mark.Hit("generate.4 correction under a revision of its own")
	before := t.payload().Qty
	s.txns.advance(&s.random, t)
	next.Revision = t.latest.Revision
	t.latest = next
	t.account.running += t.payload().Qty - before
	return s.send(class, t.account, t.txnID, t.payload())
}

// late sends a revision below the highest: a skipped one with content of its own, or an earlier payload again.
func (s *Stream) late(t *transaction) (Record, bool) {
	p := t.earlier
	if revision := s.txns.takeSkipped(t); revision > 0 {
		p = ledger.Payload{Revision: revision, Kind: ledger.KindAmend, ValidTime: t.latest.ValidTime, Qty: t.account.quantity(&s.random)}
		if revision == 1 {
			p.Kind = ledger.KindNew
		}
	}
	return s.send(Stale, t.account, t.txnID, p)
}

// contradict sends another payload at the highest revision. Quantity and valid time only rise, so that no payload of
// one revision comes twice.
func (s *Stream) contradict(t *transaction) (Record, bool) {
	next := *t
	if t.latest.Kind != ledger.KindCancel && t.account.affords(t.latest.Qty+1) {
		next.latest.Qty++
	} else {
		next.latest.ValidTime++
	}
	if !t.account.affords(next.payload().Qty) {
		return Record{}, false
	}
	*t = next
	return s.send(Conflict, t.account, t.txnID, t.payload())
}

// send makes the record of a payload, false where its quantity would leave the bound of S3.
func (s *Stream) send(class Class, a *account, txnID string, p ledger.Payload) (Record, bool) {
	if !a.affords(p.Qty) {
		mark.Hit("generate.2 record beyond the bound")
		return Record{}, false
	}
	a.spend(p.Qty)
	return Record{Partition: a.partition, Key: a.brokerKey, Value: s.render(a.stockKey, txnID, p), Class: class}, true
}
