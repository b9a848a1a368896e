package replaytest

import (
	"context"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay"
)

// damaged is a state in which one thing is otherwise, from the first reading on that has such a thing.
type damaged struct {
	replay.Store
	// change damages what was found, and reports whether there was anything to damage.
	change func(f *replay.Found) bool
	done   bool
	// from and to are the offsets whose records that reading was for.
	from, to int64
}

// Read implements replay.Store.
func (d *damaged) Read(ctx context.Context, fence replay.Fence, want replay.Want) (replay.Found, error) {
	found, err := d.Store.Read(ctx, fence, want)
	if err == nil && d.change != nil && !d.done && d.change(&found) {
		d.done, d.from, d.to = true, want.From, want.To
	}
	return found, err
}

// damages are all the ways in which state can be otherwise than its records.
func damages() map[string]func(f *replay.Found) bool {
	all := map[string]func(f *replay.Found) bool{
		"an authority is missing": func(f *replay.Found) bool { return drop(&f.Authority) },
		"an authority of a lower revision": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool { a.Payload.Revision = 0; return true })
		},
		"an authority with another quantity": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool { a.Payload.Qty ^= 1 << 40; return true })
		},
		"an authority with another kind": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool { a.Payload.Kind += 10; return true })
		},
		"an authority with another valid time": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool { a.Payload.ValidTime++; return true })
		},
		"an authority first seen later": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool { a.SourceOffset += 1 << 40; return !a.Ambiguous })
		},
		"an authority that is ambiguous without a cause": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool {
				found := !a.Ambiguous
				a.Ambiguous = true
				return found
			})
		},
		"a key without a status": func(f *replay.Found) bool { return drop(&f.Keys) },
		"a key blocked without a cause": func(f *replay.Found) bool {
			return len(f.Authority) > 0 && edit(f.Keys, func(k *ledger.KeyRow) bool {
				for _, a := range f.Authority {
					if a.KeyID == k.KeyID && !a.Ambiguous {
						k.Conflicts = append(k.Conflicts, ledger.ConflictRef{TxnID: a.TxnID, Revision: a.Payload.Revision})
					}
				}
				return true
			})
		},
	}
	for name, damage := range evidenceDamages() {
		all[name] = damage
	}
	return all
}

// evidenceDamages are those of evidence, conflicts and quarantine.
func evidenceDamages() map[string]func(f *replay.Found) bool {
	return map[string]func(f *replay.Found) bool{
		"evidence is missing": func(f *replay.Found) bool { return drop(&f.Evidence) },
		"evidence with another quantity": func(f *replay.Found) bool {
			return edit(f.Evidence, func(e *ledger.EvidenceRow) bool { e.Payload.Qty ^= 1 << 40; return true })
		},
		"evidence that nobody sent": func(f *replay.Found) bool {
			return edit(f.Evidence, func(e *ledger.EvidenceRow) bool {
				extra := *e
				extra.Payload.Qty ^= 1 << 41
				f.Evidence = append(f.Evidence, extra)
				return true
			})
		},
		"a conflict entry is missing": func(f *replay.Found) bool { return drop(&f.Conflicts) },
		"a conflict entry of another offset": func(f *replay.Found) bool {
			return edit(f.Conflicts, func(c *ledger.ConflictRow) bool { c.DetectedOffset++; return true })
		},
		"a conflict entry without a conflict": func(f *replay.Found) bool {
			for _, a := range f.Authority {
				if !a.Ambiguous {
					f.Conflicts = append(f.Conflicts, ledger.ConflictRow{KeyID: a.KeyID, TxnID: a.TxnID, Revision: a.Payload.Revision})
				}
			}
			return len(f.Authority) > 0
		},
		"a conflict that does not make its authority ambiguous": func(f *replay.Found) bool {
			return edit(f.Conflicts, func(c *ledger.ConflictRow) bool {
				a := entry(f, *c)
				found := a != nil && a.Ambiguous
				if found {
					a.Ambiguous = false
				}
				return found
			})
		},
		"a quarantine entry is missing": func(f *replay.Found) bool { return drop(&f.Quarantine) },
		"a quarantine entry of another reason": func(f *replay.Found) bool {
			return edit(f.Quarantine, func(q *ledger.QuarantineRow) bool { q.Reason = "invalid_kind"; return true })
		},
		"a quarantine entry with another value": func(f *replay.Found) bool {
			return edit(f.Quarantine, func(q *ledger.QuarantineRow) bool { q.Value = append(q.Value, 'x'); return true })
		},
		"a quarantine entry with an empty key for null": func(f *replay.Found) bool {
			return edit(f.Quarantine, func(q *ledger.QuarantineRow) bool {
				found := q.Key == nil
				if found {
					q.Key = []byte{}
				}
				return found
			})
		},
		"a quarantine entry of another digest": func(f *replay.Found) bool {
			return edit(f.Quarantine, func(q *ledger.QuarantineRow) bool { q.ValueSHA256 = []byte{1}; return true })
		},
		"a quarantine entry of an accepted record": func(f *replay.Found) bool {
			return edit(f.Authority, func(a *ledger.AuthorityRow) bool {
				f.Quarantine = append(f.Quarantine, ledger.QuarantineRow{Offset: a.SourceOffset, Reason: "invalid_kind"})
				return true
			})
		},
	}
}

// drop removes all rows of a table.
func drop[T any](rows *[]T) bool {
	found := len(*rows) > 0
	*rows = nil
	return found
}

// edit changes the rows of a table; each change says whether the row was one to change.
func edit[T any](rows []T, change func(*T) bool) bool {
	found := false
	for i := range rows {
		found = change(&rows[i]) || found
	}
	return found
}
