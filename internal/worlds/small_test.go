package worlds

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/stages/ledger"
)

// long says that the complete forms were asked for.
func long() bool { return os.Getenv("AMENDS_LONG") != "" }

// tally counts what an exhaustive test went through.
type tally struct{ multisets, orders, runs, envelopes, blocked int }

// TestSmallWorlds decides every order of every multiset of the alphabets, in one unit of work and in units of one record,
// and compares with what the judges say of the multiset: certified projection, statuses with their reason sets, conflicts
// and evidence are a matter of what arrived, not of when (S1, S4, SC06, SC08, SC09). Every prefix of a world is a world of
// its own, so that each state on the way is compared too.
//
// The stock key opens above its threshold of 60, at it, and below it (SC12).
func TestSmallWorlds(t *testing.T) {
	var total tally
	begin := time.Now()
	for _, a := range alphabets {
		for _, opening := range []int64{100, 60, 50} {
			t.Run(fmt.Sprintf("%s, opening %d", a.name, opening), func(t *testing.T) {
				w, begin := newSmall(t, a.symbols, opening), time.Now()
				most := a.short
				if long() {
					most = a.most
				}
				var count tally
				for size := 1; size <= most; size++ {
					multisets(len(a.symbols), size, func(world []int) { w.checkWorld(t, world, &count) })
				}
				t.Logf("up to %d records: %+v in %v", most, count, time.Since(begin).Round(time.Millisecond))
				total.add(count)
				if count.blocked == 0 || count.blocked == count.multisets {
					t.Errorf("%d of %d multisets end BLOCKED: the alphabet is too tame", count.blocked, count.multisets)
				}
			})
		}
	}
	t.Logf("all: %+v in %v", total, time.Since(begin).Round(time.Millisecond))
}

func (c *tally) add(other tally) {
	c.multisets += other.multisets
	c.orders += other.orders
	c.runs += other.runs
	c.envelopes += other.envelopes
	c.blocked += other.blocked
}

// checkWorld judges one multiset once and decides all its orders.
func (w *small) checkWorld(t *testing.T, world []int, count *tally) {
	t.Helper()
	ns, records := w.cfg.Namespace(), w.records(world)
	want := oracletest.Compute(t, reference.Engine{}, ns, records)
	if second := oracletest.Compute(t, arrow.Engine{}, ns, records); !reflect.DeepEqual(want, second) {
		oracletest.Equal(t, fmt.Sprintf("arrow, %s", w.spell(world)), second, want)
	}
	expected := newOutcome(ns, want)
	count.multisets++
	count.blocked += len(expected.blockedKeys)
	transactions := make([]ledger.Transaction, len(world))
	for more := true; more; more = nextOrder(world) {
		count.orders++
		for i, s := range world {
			transactions[i] = w.transactions[s]
		}
		var whole []ledger.Envelope
		for _, size := range []int{len(world), 1} {
			d := &driver{cfg: w.cfg}
			err := d.run(transactions, size)
			if err == nil {
				err = expected.check(d, transactions, whole)
			}
			if err != nil {
				t.Fatalf("units of %d: %v\n%s", size, err, w.spell(world))
			}
			whole = d.envelopes
			count.runs++
			count.envelopes += len(d.envelopes)
		}
	}
}

// check compares a finished driver with the outcome, and its envelopes with those of another run, byte for byte.
func (o *outcome) check(d *driver, accepted []ledger.Transaction, other []ledger.Envelope) error {
	if err := o.checkPublished(d.envelopes); err != nil {
		return err
	}
	if err := o.checkRows(d.days, d.conflicts); err != nil {
		return err
	}
	if other != nil && !reflect.DeepEqual(d.envelopes, other) {
		return fmt.Errorf("the envelopes depend on the size of units of work: %s and %s", texts(d.envelopes), texts(other))
	}
	return checkEvidence(accepted, d.authority, d.evidence)
}

// texts are envelopes, one a line.
func texts(envelopes []ledger.Envelope) string {
	var all string
	for _, e := range envelopes {
		all += "\n" + string(e.Value)
	}
	return all
}

// spell prints a world in its present order.
func (w *small) spell(world []int) string {
	var all string
	for _, s := range world {
		all += string(w.values[s]) + "\n"
	}
	return all
}
