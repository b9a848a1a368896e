package ownerconformance

import (
	"context"

	"amends.dev/amends/stages/owner/postgres/scratch"
)

// Postgres opens stores in schemas of their own, named by a prefix and the subject's name, in one database. They are gone
// when the run ends. A crash cuts the connection before COMMIT; recovery opens new ones.
func Postgres(url, prefix string) Open {
	return func(ctx context.Context, name string) (Subject, error) {
		return scratch.New(ctx, url, prefix+"_"+name)
	}
}
