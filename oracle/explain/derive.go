package explain

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
)

// Keys derives what was collected, in the order in which the keys were asked.
func (c *Collector) Keys() []Key {
	keys := make([]Key, 0, len(c.asked))
	for _, index := range c.asked {
		key := c.histories[index].derive(c.namespace.Spec.StockKeys[index])
		key.Origin = dayOf(c.namespace.Spec.LedgerOrigin)
		keys = append(keys, key)
	}
	return keys
}

// derive applies authority and, where it is unambiguous, the fold.
func (h *history) derive(config manifests.StockKey) Key {
	k := Key{
		Item: config.Item, Location: config.Location,
		OpeningBalance: config.OpeningBalance, ReorderThreshold: config.ReorderThreshold,
		Identities: []Identity{}, Rejected: []Rejected{}, Days: []Day{},
	}
	k.Rejected = append(k.Rejected, h.rejected...)
	for _, txnID := range slices.Sorted(maps.Keys(h.identities)) {
		id := h.identities[txnID].derive(txnID)
		k.Identities = append(k.Identities, id)
		switch {
		case id.Authority().State == Conflicting:
			k.Status = Blocked
		case k.Status == "":
			k.Status = Ready
		}
	}
	if k.Status == Ready { // a BLOCKED key is not folded (S4)
		k.fold()
	}
	return k
}

// Authority is the highest revision of the identity.
func (i Identity) Authority() Revision { return i.Revisions[len(i.Revisions)-1] }

// derive orders the revisions and says what each counts for.
func (i *identity) derive(txnID string) Identity {
	out := Identity{TxnID: txnID}
	numbers := slices.Sorted(maps.Keys(i.revisions))
	for position, number := range numbers {
		r := i.revisions[number]
		out.Revisions = append(out.Revisions, Revision{
			Revision: number, State: r.state(position == len(numbers)-1), Payloads: r.derive(),
		})
	}
	return out
}

// state is what the revision counts for.
func (r *revision) state(highest bool) State {
	switch {
	case highest && len(r.payloads) > 1:
		return Conflicting
	case highest && r.payloads[0].kind == decode.KindCancel:
		return Cancelled
	case highest:
		return Authoritative
	case len(r.payloads) > 1:
		return SupersededConflict
	default:
		return Superseded
	}
}

// derive renders the payloads.
func (r *revision) derive() []Payload {
	out := make([]Payload, 0, len(r.payloads))
	for _, p := range r.payloads {
		day := ""
		if p.kind != decode.KindCancel {
			day = dayOf(p.validTime)
		}
		out = append(out, Payload{
			Kind: p.kind.String(), ValidTime: instant(p.validTime), Qty: p.qty, Day: day, Records: p.records,
		})
	}
	return out
}

// fold adds the days up (S5).
func (k *Key) fold() {
	byDay := map[string][]Contribution{}
	for _, id := range k.Identities {
		authority := id.Authority()
		if authority.State != Authoritative {
			continue
		}
		p := authority.Payloads[0]
		byDay[p.Day] = append(byDay[p.Day], Contribution{
			TxnID: id.TxnID, Revision: authority.Revision, Qty: p.Qty, ValidTime: p.ValidTime,
			Partition: p.Records[0].Partition, Offset: p.Records[0].Offset,
		})
	}
	threshold, before := big.NewInt(k.ReorderThreshold), big.NewInt(k.OpeningBalance)
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		contributions := byDay[day]
		slices.SortFunc(contributions, orderContributions)
		movement := new(big.Int)
		for _, c := range contributions {
			movement.Add(movement, big.NewInt(c.Qty))
		}
		closing := new(big.Int).Add(before, movement)
		k.Days = append(k.Days, Day{
			Day: day, Before: before, Movement: movement, Close: closing,
			Crossing: before.Cmp(threshold) >= 0 && closing.Cmp(threshold) < 0,
			InDomain: closing.IsInt64(), Contributions: contributions,
		})
		before = closing
	}
}

// orderContributions sorts by the instant, then the transaction ID (S6). Texts of one day compare as instants do once
// they have equally many decimals.
func orderContributions(a, b Contribution) int {
	return cmp.Or(strings.Compare(padded(a.ValidTime), padded(b.ValidTime)), strings.Compare(a.TxnID, b.TxnID))
}

// padded is an RFC 3339 text in UTC with nine decimals.
func padded(text string) string {
	whole, decimals, _ := strings.Cut(strings.TrimSuffix(text, "Z"), ".")
	return whole + "." + decimals + strings.Repeat("0", 9-len(decimals))
}
