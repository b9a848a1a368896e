package manifests

import (
	"fmt"
	"strings"
)

// didYouMean suggests the known name nearest to an unknown one, as `; did you mean "kind"?`, or nothing.
func didYouMean(name string, known []string) string {
	const lengthMax = 64 // the distance is quadratic; no field name is longer
	if len(name) > lengthMax {
		return ""
	}
	best, bestDistance := "", 1+len(name)/3
	for _, candidate := range known {
		if d := editDistance(fold(name), fold(candidate)); d < bestDistance || (d == bestDistance && best == "") {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// fold removes what people vary in field names: case, underscores and hyphens.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
