package generate

import (
	"strconv"

	"amends.dev/amends/stages/ledger"
)

// Story is where the stream tells scenario SC02: on a key that opens at 100 with the threshold 60, issues of 50 and 20
// and a receipt of 50 on three days give the closes 50, 30 and 80; a later amendment of the first issue to 30 gives 70,
// 50 and 100, and the crossing moves from the first day to the second.
type Story struct {
	// KeyID is the first configured key with that opening and threshold. No other record touches it, unless it is the
	// only key that takes part.
	KeyID int32
	// AmendIndex is the record, counted from 0, that is the amendment; the story's first three records open the stream.
	AmendIndex int64
}

// story is what is told, nil where it is not.
type story struct {
	account *account
	amendAt int64
}

// storyRecords is how many records the story has; a shorter stream does not tell it.
const storyRecords = 4

// findStory finds the first key that the story fits, and takes its records out of the urn.
func (s *Stream) findStory() *account {
	if s.options.Count < storyRecords {
		return nil
	}
	for id, k := range s.spec.StockKeys {
		if k.OpeningBalance != 100 || k.ReorderThreshold != 60 {
			continue
		}
		a, err := newAccount(s.spec, int32(id))
		if err != nil {
			continue
		}
		s.story = story{account: a, amendAt: max(storyRecords-1, s.options.Count/2)}
		for range storyRecords - 1 {
			s.urn.take(New)
		}
		s.urn.take(Amend)
		return a
	}
	return nil
}

// Story reports whether the stream tells SC02, and where.
func (s *Stream) Story() (Story, bool) {
	if s.story.account == nil {
		return Story{}, false
	}
	return Story{KeyID: s.story.account.keyID, AmendIndex: s.story.amendAt}, true
}

// tell returns the story's record where one is due. Its transaction IDs do not depend on the seed: a second stream
// into the same namespace repeats the story as duplicates.
func (s *Stream) tell() (Record, bool) {
	a := s.story.account
	if a == nil {
		return Record{}, false
	}
	day, class, p := s.emitted, New, ledger.Payload{Revision: 1, Kind: ledger.KindNew}
	switch s.emitted {
	case 0:
		p.Qty = -50
	case 1:
		p.Qty = -20
	case 2:
		p.Qty = 50
	case s.story.amendAt:
		day, class, p = 0, Amend, ledger.Payload{Revision: 2, Kind: ledger.KindAmend, Qty: -30}
	default:
		return Record{}, false
	}
	p.ValidTime = s.spec.LedgerOrigin + day*dayNanos + 10*60*60*1_000_000_000
	return s.send(class, a, "sc02-day"+strconv.FormatInt(day+1, 10), p)
}
