package generate_test

import (
	"strings"
	"testing"

	"amends.dev/amends/stages/generate"
)

func contains(err error, part string) bool { return strings.Contains(err.Error(), part) }

// Whole is a share in hundredths.
func Whole(hundredths int64) generate.Share { return generate.Share(hundredths) * generate.Whole / 100 }

// TestShare: what is read is rendered again, and nothing else than a fraction is read.
func TestShare(t *testing.T) {
	for text, want := range map[string]generate.Share{"0": 0, "1": 1_000_000, "0.15": 150_000, "0.000001": 1, "1.0": 1_000_000, "0.999999": 999_999, "00.5": 500_000} {
		got, err := generate.ParseShare(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if again, err := generate.ParseShare(got.String()); again != got || err != nil {
			t.Errorf("%s is rendered %s", text, got)
		}
	}
	for _, text := range []string{"", ".", ".5", "1.", "1.000001", "2", "-0.1", "+0.1", "0.0000001", "1e-1", "0,5", "0x1", "15%", "NaN", " 0.1", "00000000000000000000.1", "0.1.2"} {
		if got, err := generate.ParseShare(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
	var s generate.Share
	if s.Set("0.25") != nil || s != 250_000 || s.String() != "0.25" || s.Set("x") == nil || s != 250_000 {
		t.Errorf("set: %s", s)
	}
}

// TestValidateNamesAll: everything wrong is told in one run.
func TestValidateNamesAll(t *testing.T) {
	if err := generate.Defaults().Validate(); err != nil {
		t.Fatal(err)
	}
	err := generate.Options{Rate: -1, Keys: -1, Stale: -1}.Validate()
	for _, flag := range []string{"--count", "--rate", "--keys", "--days", "--stale-share"} {
		if err == nil || !contains(err, flag) {
			t.Errorf("%s is not in %v", flag, err)
		}
	}
}
