package pipeline

import (
	"amends.dev/amends/stages/operation"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// Operations is where the administrative work on a namespace keeps its steps: on durable owners in its state schema, over
// a pool whose search_path is that schema (R29).
func Operations(state *postgres.Pool, namespace string) operation.Log {
	return operation.Owned(ownerpg.New(state), namespace)
}
