package ownerconformance

import (
	"slices"
	"strings"

	"amends.dev/amends/stages/owner"
)

// markOrders says of every scenario in which order the lists of its images stand. The contract leaves it open: they are in
// the order of acceptance, or, where a store keeps them by identity, in the order of identities. A folder has one order
// throughout: one list of it that is in no order of identities makes it that of acceptance.
func markOrders(files []*File) {
	for _, f := range files {
		for _, s := range f.Scenarios {
			for _, step := range s.Steps {
				if !step.Image.byIdentity() {
					return
				}
			}
		}
	}
	for _, f := range files {
		for _, s := range f.Scenarios {
			s.byIdentity = true
		}
	}
}

// byIdentity reports whether the lists of an image are in the order of the bytes of their identities.
func (i *image) byIdentity() bool {
	return slices.IsSortedFunc(i.Inbox, compareInbox) && slices.IsSortedFunc(i.Outbox, compareOutbox) &&
		slices.IsSortedFunc(i.Receipts, compareReceipts)
}

// inOrderOf puts the lists of what a store showed in the order of identities. Pending effects are in the same one, or by
// their acceptance first, whichever want has.
func (i *image) inOrderOf(want *image) *image {
	sorted := *i
	sorted.Inbox, sorted.Outbox = slices.Clone(i.Inbox), slices.Clone(i.Outbox)
	sorted.Receipts, sorted.PendingEffectIDs = slices.Clone(i.Receipts), slices.Clone(i.PendingEffectIDs)
	slices.SortFunc(sorted.Inbox, compareInbox)
	slices.SortFunc(sorted.Outbox, compareOutbox)
	slices.SortFunc(sorted.Receipts, compareReceipts)
	slices.Sort(sorted.PendingEffectIDs)
	if !slices.IsSorted(want.PendingEffectIDs) {
		accepted := map[string]uint64{}
		for _, e := range i.Outbox {
			accepted[e.ID] = e.AcceptedAt
		}
		slices.SortStableFunc(sorted.PendingEffectIDs, func(a, b string) int {
			return owner.MarkAt(accepted[a]).Compare(owner.MarkAt(accepted[b]))
		})
	}
	return &sorted
}

func compareInbox(a, b *inboxItem) int { return strings.Compare(a.ID, b.ID) }

func compareOutbox(a, b *outboxItem) int { return strings.Compare(a.ID, b.ID) }

func compareReceipts(a, b *receiptRecord) int { return strings.Compare(a.ID, b.ID) }
