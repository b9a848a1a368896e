package derive

import (
	"context"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized/derived"
)

// resolver works out authority, evidence and conflicts of a partition, key by key, and hands each key on to its folder.
type resolver struct {
	ns      *manifests.Namespace
	history *history
	files   *derived.Partition
	sorter  sorter
	fold    fold
	// payloads is scratch: the distinct payloads of one revision.
	payloads []uint32
}

func (r *resolver) run(ctx context.Context) error {
	for k := range r.history.byKey(len(r.ns.Spec.StockKeys)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.key(k); err != nil {
			return err
		}
	}
	return nil
}

// key resolves all identities of one key, and writes its days and status.
func (r *resolver) key(k *keyRows) error {
	r.fold.begin(&r.ns.Spec.StockKeys[k.key], k)
	rows := r.sorter.sort(k)
	for start, end := 0, 0; start < len(rows); start = end {
		for end = start + 1; end < len(rows) && k.txnID(rows[end]) == k.txnID(rows[start]); end++ {
			continue
		}
		if err := r.identity(k, rows[start:end]); err != nil {
			return err
		}
	}
	return r.fold.write(r.files)
}

// identity resolves one identity: its highest revision is authoritative, its first payload there is kept as such, and all
// other distinct payloads are evidence (S4, R20).
func (r *resolver) identity(k *keyRows, rows []uint32) error {
	for start, end := 0, 0; start < len(rows); start = end {
		for end = start + 1; end < len(rows) && k.rows[rows[end]].revision == k.rows[rows[start]].revision; end++ {
			continue
		}
		highest := end == len(rows)
		payloads := r.distinct(k, rows[start:end])
		if len(payloads) > 1 {
			mark.Hit("R26 conflict derived")
			if err := r.files.Conflict(derived.Conflict{
				Key: k.key, TxnID: k.txnID(payloads[1]), Revision: k.rows[payloads[1]].revision, Highest: highest, Offset: k.rows[payloads[1]].offset,
			}); err != nil {
				return err
			}
		}
		evidence := payloads
		if highest {
			evidence = payloads[1:]
			if err := r.authority(k, payloads[0], len(payloads) > 1); err != nil {
				return err
			}
		}
		for _, row := range evidence {
			if err := r.files.Evidence(derived.Evidence{
				Key: k.key, TxnID: k.txnID(row), Revision: k.rows[row].revision, Kind: int32(k.rows[row].kind),
				ValidTime: k.rows[row].validTime, Qty: k.rows[row].qty, Offset: k.rows[row].offset,
			}); err != nil {
				return err
			}
		}
		r.fold.revision(payloads, highest)
	}
	return nil
}

// authority writes the highest revision of an identity.
func (r *resolver) authority(k *keyRows, row uint32, ambiguous bool) error {
	return r.files.Authority(derived.Authority{
		Key: k.key, TxnID: k.txnID(row), Revision: k.rows[row].revision, Kind: int32(k.rows[row].kind),
		ValidTime: k.rows[row].validTime, Qty: k.rows[row].qty, Ambiguous: ambiguous, Offset: k.rows[row].offset,
	})
}

// payload is a canonical payload beside its identity and revision.
type payload struct {
	kind           decode.Kind
	validTime, qty int64
}

// distinct returns the first row of each distinct payload among rows of one revision, in offset order. The result is valid
// until the next call. A map keeps hostile revisions of many payloads linear.
func (r *resolver) distinct(k *keyRows, rows []uint32) []uint32 {
	r.payloads = append(r.payloads[:0], rows[0])
	const few = 8
	if len(rows) <= few {
		for _, row := range rows[1:] {
			if !slices.ContainsFunc(r.payloads, func(known uint32) bool { return k.samePayload(known, row) }) {
				r.payloads = append(r.payloads, row)
			}
		}
		return r.payloads
	}
	seen := map[payload]bool{}
	r.payloads = r.payloads[:0]
	for _, row := range rows {
		p := k.payload(row)
		if !seen[p] {
			seen[p] = true
			r.payloads = append(r.payloads, row)
		}
	}
	return r.payloads
}
