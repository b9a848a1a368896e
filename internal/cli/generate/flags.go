// Package generate is the command line of `amendsctl generate`, the synthetic producer.
package generate

import (
	"github.com/spf13/cobra"

	"amends.dev/amends/stages/generate"
)

// AddFlags declares the flags of generate.Options on a verb, with their defaults. The options are filled when the verb
// has parsed its flags; generate.NewStream validates them.
func AddFlags(cmd *cobra.Command) *generate.Options {
	o := generate.Defaults()
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "history to generate; the same seed gives the same records")
	f.Int64Var(&o.Count, "count", o.Count, "number of records")
	f.Int64Var(&o.Rate, "rate", o.Rate, "records per second, 0 for unlimited")
	f.IntVar(&o.Keys, "keys", o.Keys, "how many configured stock keys take part, 0 for all")
	f.IntVar(&o.Days, "days", o.Days, "days from the ledger origin on that transactions are spread over")
	for _, share := range []struct {
		value *generate.Share
		class generate.Class
		usage string
	}{
		{&o.Amend, generate.Amend, "share of amendments: another quantity"},
		{&o.Move, generate.Move, "share of amendments that move a transaction to another day"},
		{&o.Cancel, generate.Cancel, "share of cancellations"},
		{&o.Backdate, generate.Backdate, "share of new transactions before the latest activity of their key"},
		{&o.Duplicate, generate.Duplicate, "share of exact duplicates"},
		{&o.Stale, generate.Stale, "share of records below the highest revision"},
		{&o.Conflict, generate.Conflict, "share of conflicting payloads at the highest revision"},
		{&o.Malformed, generate.Malformed, "share of records that are rejected"},
	} {
		f.Var(share.value, share.class.String()+"-share", share.usage)
	}
	return &o
}
