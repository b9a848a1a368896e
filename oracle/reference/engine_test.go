package reference_test

import (
	"testing"

	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
)

func TestHistories(t *testing.T) { oracletest.RunHistories(t, reference.Engine{}) }

// TestPitfalls runs B046, B048, B050, B068, B069, B071, B081, B083, B085, B087, B088, B089 and B100 through the engine.
func TestPitfalls(t *testing.T) { oracletest.RunPitfalls(t, reference.Engine{}) }
