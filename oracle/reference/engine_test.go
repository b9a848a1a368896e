package reference_test

import (
	"testing"

	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
)

func TestHistories(t *testing.T) { oracletest.RunHistories(t, reference.Engine{}) }
