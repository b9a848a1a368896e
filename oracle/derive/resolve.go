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
	columns *columns
	files   *derived.Partition
	fold    fold
	// payloads is scratch: the distinct payloads of one revision.
	payloads []uint32
}

func (r *resolver) run(ctx context.Context) error {
	order, bounds := r.columns.order(len(r.ns.Spec.StockKeys))
	for key := range r.ns.Spec.StockKeys {
		rows := order[bounds[key]:bounds[key+1]]
		if len(rows) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.key(int32(key), rows); err != nil {
			return err
		}
	}
	return nil
}

// key resolves all identities of one key, whose rows are sorted, and writes its days and status.
func (r *resolver) key(key int32, rows []uint32) error {
	r.fold.begin(&r.ns.Spec.StockKeys[key], r.columns, slices.Min(rows))
	for start, end := 0, 0; start < len(rows); start = end {
		for end = start + 1; end < len(rows) && r.columns.txnID(rows[end]) == r.columns.txnID(rows[start]); end++ {
			continue
		}
		if err := r.identity(key, rows[start:end]); err != nil {
			return err
		}
	}
	return r.fold.write(key, r.files)
}

// identity resolves one identity: its highest revision is authoritative, its first payload there is kept as such, and all
// other distinct payloads are evidence (S4, R20).
func (r *resolver) identity(key int32, rows []uint32) error {
	c := r.columns
	for start, end := 0, 0; start < len(rows); start = end {
		for end = start + 1; end < len(rows) && c.revision[rows[end]] == c.revision[rows[start]]; end++ {
			continue
		}
		highest := end == len(rows)
		payloads := r.distinct(rows[start:end])
		if len(payloads) > 1 {
			mark.Hit("R26 conflict derived")
			if err := r.files.Conflict(derived.Conflict{
				Key: key, TxnID: c.txnID(payloads[1]), Revision: c.revision[payloads[1]], Highest: highest, Offset: c.offset[payloads[1]],
			}); err != nil {
				return err
			}
		}
		evidence := payloads
		if highest {
			evidence = payloads[1:]
			if err := r.authority(key, payloads[0], len(payloads) > 1); err != nil {
				return err
			}
		}
		for _, row := range evidence {
			if err := r.files.Evidence(derived.Evidence{
				Key: key, TxnID: c.txnID(row), Revision: c.revision[row], Kind: int32(c.kind[row]),
				ValidTime: c.validTime[row], Qty: c.qty[row], Offset: c.offset[row],
			}); err != nil {
				return err
			}
		}
		r.fold.revision(payloads, highest)
	}
	return nil
}

// authority writes the highest revision of an identity.
func (r *resolver) authority(key int32, row uint32, ambiguous bool) error {
	c := r.columns
	return r.files.Authority(derived.Authority{
		Key: key, TxnID: c.txnID(row), Revision: c.revision[row], Kind: int32(c.kind[row]),
		ValidTime: c.validTime[row], Qty: c.qty[row], Ambiguous: ambiguous, Offset: c.offset[row],
	})
}

// payload is a canonical payload beside its identity and revision.
type payload struct {
	kind           decode.Kind
	validTime, qty int64
}

// distinct returns the first row of each distinct payload among rows of one revision, in offset order. The result is valid
// until the next call. A map keeps hostile revisions of many payloads linear.
func (r *resolver) distinct(rows []uint32) []uint32 {
	c := r.columns
	r.payloads = append(r.payloads[:0], rows[0])
	const few = 8
	if len(rows) <= few {
		for _, row := range rows[1:] {
			if !slices.ContainsFunc(r.payloads, func(known uint32) bool { return c.samePayload(known, row) }) {
				r.payloads = append(r.payloads, row)
			}
		}
		return r.payloads
	}
	seen := map[payload]bool{}
	r.payloads = r.payloads[:0]
	for _, row := range rows {
		p := payload{c.kind[row], c.validTime[row], c.qty[row]}
		if !seen[p] {
			seen[p] = true
			r.payloads = append(r.payloads, row)
		}
	}
	return r.payloads
}
