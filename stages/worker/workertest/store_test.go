package workertest_test

import (
	"testing"

	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		store := workertest.NewStore(storetest.Partitions)
		return storetest.Subject{Store: store, Tables: func(*testing.T) workertest.Tables { return store.Tables() }}
	})
}
