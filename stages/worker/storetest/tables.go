package storetest

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker/workertest"
)

// Texts and numbers that a store may mangle: bounds of int64, a quote, a backslash, U+2028, a supplementary plane.
const odd = `t'1"\` + "\u2028\U0001F642%"

// FirstChanges is a unit of work from offset 0 that writes new rows into every table, with extreme values.
func FirstChanges() ledger.Changes {
	return ledger.Changes{
		NewAuthority: []ledger.AuthorityRow{
			{KeyID: 0, TxnID: odd, Payload: payload(math.MaxInt64, ledger.KindNew, math.MinInt64, math.MaxInt64), Ambiguous: true, SourceOffset: 4},
			{KeyID: 1, TxnID: "a", Payload: payload(1, ledger.KindCancel, math.MaxInt64, 0), SourceOffset: 0},
			{KeyID: 1, TxnID: "a ", Payload: payload(2, ledger.KindAmend, 0, math.MinInt64), SourceOffset: 2},
		},
		Evidence: []ledger.EvidenceRow{
			{KeyID: 0, TxnID: odd, Payload: payload(math.MaxInt64, ledger.KindAmend, math.MinInt64, math.MaxInt64), SourceOffset: 5},
			{KeyID: 0, TxnID: odd, Payload: payload(3, ledger.KindNew, 7, -7), SourceOffset: 1},
			{KeyID: 1, TxnID: "a", Payload: payload(3, ledger.KindNew, 7, -7), SourceOffset: 3},
		},
		Conflicts: []ledger.ConflictRow{{KeyID: 0, TxnID: odd, Revision: math.MaxInt64, DetectedOffset: 5}},
		NewDays: []ledger.DayRow{
			{KeyID: 0, Day: math.MinInt32, Active: 1, Close: math.MinInt64, BalanceVersion: math.MaxInt64, AlertVersion: 3, AlertPresent: true, AlertClose: math.MinInt64},
			{KeyID: 0, Day: math.MaxInt32, Active: 0, Close: 0, BalanceVersion: 2},
			{KeyID: 1, Day: -1, Active: 5, Close: 5, BalanceVersion: 1},
		},
		Keys: []ledger.KeyRow{
			{KeyID: 0, StatusVersion: 2, Conflicts: []ledger.ConflictRef{{TxnID: odd, Revision: math.MaxInt64}, {TxnID: "z", Revision: 1}}},
			{KeyID: 1, StatusVersion: 1},
			{KeyID: 2, StatusVersion: 1, Conflicts: []ledger.ConflictRef{{TxnID: "z", Revision: 9}}},
		},
		Quarantine: []ledger.QuarantineRow{
			{Offset: 6, Reason: "null_value", KeyLength: -1, ValueLength: -1},
			{Offset: 7, Reason: "invalid_json", Key: []byte{0}, Value: []byte{}, KeyLength: 1, ValueLength: 0, KeySHA256: []byte{1}, ValueSHA256: []byte{2}},
			{Offset: 8, Reason: "oversized_record", Key: []byte{0xff, 0, '{', '"'}, KeyLength: 4, ValueLength: 1 << 30, KeySHA256: []byte{3}, ValueSHA256: []byte{4}},
		},
		Envelopes: envelopes("e1", "e2", "e3"),
		// The frontier passes gaps and control records too.
		NextOffset: 20, Accepted: 6, Rejected: 3,
	}
}

// secondChanges changes rows that FirstChanges wrote, and adds some.
func secondChanges() ledger.Changes {
	first := FirstChanges()
	authority, day := first.NewAuthority[0], first.NewDays[0]
	authority.Payload.Kind, authority.Ambiguous, authority.SourceOffset = ledger.KindAmend, false, 21
	day.Active, day.Close, day.AlertPresent, day.AlertClose, day.AlertVersion = 0, 0, false, 0, 4
	return ledger.Changes{
		NewAuthority:     []ledger.AuthorityRow{{KeyID: 3, TxnID: "a", Payload: payload(1, ledger.KindNew, 0, 0), SourceOffset: 22}},
		ChangedAuthority: []ledger.AuthorityRow{authority},
		Evidence:         []ledger.EvidenceRow{{KeyID: 0, TxnID: odd, Payload: payload(3, ledger.KindNew, 7, -8), SourceOffset: 23}},
		Conflicts:        []ledger.ConflictRow{{KeyID: 0, TxnID: odd, Revision: 3, DetectedOffset: 23}},
		NewDays:          []ledger.DayRow{{KeyID: 3, Day: 0, Active: 1, BalanceVersion: 1}},
		ChangedDays:      []ledger.DayRow{day},
		Keys: []ledger.KeyRow{
			{KeyID: 0, StatusVersion: 3},
			{KeyID: 1, StatusVersion: 2, Conflicts: []ledger.ConflictRef{{TxnID: "a", Revision: 1}}},
		},
		Quarantine: []ledger.QuarantineRow{{Offset: 24, Reason: "invalid_json", Value: []byte("x"), KeyLength: -1, ValueLength: 1, ValueSHA256: []byte{9}}},
		Envelopes:  envelopes("e4"),
		NextOffset: 25, Accepted: 3, Rejected: 1,
	}
}

func payload(revision int64, kind ledger.Kind, validTime, qty int64) ledger.Payload {
	return ledger.Payload{Revision: revision, Kind: kind, ValidTime: validTime, Qty: qty}
}

// bothTables is what a store holds after FirstChanges and secondChanges on partition 0.
func bothTables() workertest.Tables {
	first, second := FirstChanges(), secondChanges()
	want := workertest.Tables{
		Partitions: []workertest.PartitionRow{
			{Partition: 0, NextOffset: 25, OutboxNext: 5, Accepted: 9, Rejected: 4}, {Partition: 1, OutboxNext: 1}, {Partition: 2, OutboxNext: 1},
		},
		Keys:      []ledger.KeyRow{second.Keys[0], second.Keys[1], first.Keys[2]},
		Authority: append(append(second.ChangedAuthority, first.NewAuthority[1:]...), second.NewAuthority...),
		Evidence:  append(first.Evidence, second.Evidence...),
		Conflicts: append(first.Conflicts, second.Conflicts...),
		Days:      append(append(second.ChangedDays, first.NewDays[1:]...), second.NewDays...),
	}
	for _, q := range append(first.Quarantine, second.Quarantine...) {
		want.Quarantine = append(want.Quarantine, workertest.QuarantineRow{QuarantineRow: q})
	}
	for i, e := range append(first.Envelopes, second.Envelopes...) {
		want.Outbox = append(want.Outbox, workertest.OutboxRow{Seq: int64(i + 1), Key: e.Key, Value: e.Value})
	}
	want.Sort()
	return want
}

// testEveryTable writes and reads back all tables, through the dump and through a unit of work.
func testEveryTable(t *testing.T, s Subject) {
	state := Install(t, s.Store, 0, "a", 1)
	commit(t, s.Store, state, FirstChanges())
	state.NextOffset = FirstChanges().NextOffset
	commit(t, s.Store, state, secondChanges())
	want := bothTables()
	if diff := cmp.Diff(want, s.Tables(t), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
	// A null key or value is not an empty one.
	for i, q := range s.Tables(t).Quarantine {
		if w := want.Quarantine[i]; (q.Key == nil) != (w.Key == nil) || (q.Value == nil) != (w.Value == nil) {
			t.Errorf("quarantined offset %d: null and empty are mixed up: %+v", q.Offset, q)
		}
	}
	unit, err := s.Store.Begin(t.Context(), 0, state.Epoch, 25)
	if err != nil {
		t.Fatal(err)
	}
	defer unit.Rollback(t.Context())
	var got workertest.Tables
	if got.Keys, got.Days, err = unit.Keys(t.Context(), []int32{0, 1, 2, 3, 99}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Days, got.Days); diff != "" {
		t.Errorf("days, which must come sorted: %s", diff)
	}
	if got.Authority, err = unit.KeyAuthority(t.Context(), []int32{0, 1, 3}); err != nil {
		t.Fatal(err)
	}
	refs := []ledger.RevisionRef{{KeyID: 0, TxnID: odd, Revision: 3}, {KeyID: 0, TxnID: odd, Revision: math.MaxInt64}, {KeyID: 1, TxnID: "a", Revision: 3}, {KeyID: 0, TxnID: "a", Revision: 3}}
	if got.Evidence, err = unit.Evidence(t.Context(), refs); err != nil {
		t.Fatal(err)
	}
	single, err := unit.Authority(t.Context(), []ledger.IdentityRef{{KeyID: 1, TxnID: "a "}, {KeyID: 1, TxnID: "A"}, {KeyID: 2, TxnID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	got.Sort()
	part := workertest.Tables{Keys: want.Keys, Days: want.Days, Authority: want.Authority, Evidence: want.Evidence}
	if diff := cmp.Diff(part, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ledger.AuthorityRow{FirstChanges().NewAuthority[2]}, single); diff != "" {
		t.Error(diff)
	}
}
