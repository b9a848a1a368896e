package verify

import (
	"fmt"
	"strings"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/report"
)

// resolveScope finds the configured stock keys that are asked for as ITEM,LOCATION. Names may hold commas: exactly one of
// the ways to split has to name a configured key. Errors wrap ErrScope.
func resolveScope(a *Applied, asked []string) ([]compare.Key, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	configured := map[compare.Key]bool{}
	for _, k := range a.Namespace.Spec.StockKeys {
		configured[compare.Key{Item: k.Item, Location: k.Location}] = true
	}
	var keys []compare.Key
	seen := map[compare.Key]bool{}
	for _, text := range asked {
		var found []compare.Key
		for i, c := range text {
			if k := (compare.Key{Item: text[:i], Location: text[min(i+1, len(text)):]}); c == ',' && configured[k] {
				found = append(found, k)
			}
		}
		switch {
		case len(found) == 0:
			return nil, fmt.Errorf("key %q is %w %s; want ITEM,LOCATION of a configured stock key", text, ErrScope, a.Name)
		case len(found) > 1:
			return nil, fmt.Errorf("key %q is %w %s by one reading alone: it is %s", text, ErrScope, a.Name, strings.Trim(fmt.Sprintf("%q", found), "[]"))
		}
		if !seen[found[0]] {
			seen[found[0]] = true
			keys = append(keys, found[0])
		}
	}
	return keys, nil
}

// fillScope enters what was found of the keys in scope. At an incomplete boundary nothing was, whatever was compared.
func (v *run) fillScope() {
	blocked := map[compare.Key]bool{}
	for _, c := range v.report.Conflicts {
		if c.State == report.Ambiguous {
			blocked[compare.Key{Item: c.Item, Location: c.Location}] = true
		}
	}
	for _, k := range v.scope {
		scoped := report.ScopedKey{Item: k.Item, Location: k.Location, Blocked: blocked[k]}
		if scoped.Compared = v.found != nil && v.found.collector != nil && v.report.Complete; scoped.Compared {
			scoped.Tally = v.found.collector.Followed(k)
		}
		v.report.Scope = append(v.report.Scope, scoped)
	}
}
