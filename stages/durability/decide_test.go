package durability

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

const handle = "/v1/namespaces/shop/requests/r1"

// wants checks the status and the field of an answer in its JSON form.
func wants(t *testing.T, c Case, status int, field string) {
	t.Helper()
	a := Decide(c)
	got := ""
	if a.Durability != nil {
		text, err := json.Marshal(a.Durability)
		if err != nil {
			t.Fatal(err)
		}
		got = string(text)
	}
	if a.Status != status || got != field {
		t.Errorf("%s\ngot  %d %s\nwant %d %s", show(c), a.Status, got, status, field)
	}
}

func show(c Case) string {
	marker := "no marker"
	if c.Marker != nil {
		marker = fmt.Sprintf("%+v", *c.Marker)
	}
	return fmt.Sprintf("%s, offered %s, problems %b, in place %s", marker, c.Offered, c.Problems, c.InPlace)
}

// TestR30Rows: the eight rows, each with every combination of level and offer that leads to it.
func TestR30Rows(t *testing.T) {
	ask := func(level Level, mustHave bool) *Marker { return &Marker{Level: level, MustHave: mustHave} }
	row := func(marker *Marker, offered, inPlace Level, status int, field string) {
		t.Helper()
		wants(t, Case{Marker: marker, Offered: offered, InPlace: inPlace, Handle: handle}, status, field)
	}
	const found = `"handle":"` + handle + `"`
	for _, must := range []bool{false, true} {
		// 1: met.
		row(ask(Stored, must), Stored, Stored, 200, `{"requested":"stored","applied":"stored",`+found+`}`)
		row(ask(Stored, must), Published, Stored, 200, `{"requested":"stored","applied":"stored",`+found+`}`)
		row(ask(Stored, must), Published, Published, 200, `{"requested":"stored","applied":"stored",`+found+`}`)
		row(ask(None, must), None, None, 200, `{"requested":"none","applied":"none"}`)
		row(ask(None, must), Published, None, 200, `{"requested":"none","applied":"none"}`)
		// 5: asynchronous.
		row(ask(Published, must), Published, Stored, 202, `{"requested":"published","applied":"stored","committed":"published",`+found+`}`)
		row(ask(Published, must), Published, Published, 202, `{"requested":"published","applied":"published","committed":"published",`+found+`}`)
	}
	// 2: weaker, best effort.
	row(ask(Published, false), Stored, Stored, 200, `{"requested":"published","applied":"stored",`+found+`}`)
	row(ask(Published, false), Stored, Published, 200, `{"requested":"published","applied":"stored",`+found+`}`)
	// 3: no store, best effort.
	row(ask(Stored, false), None, None, 200, `{"requested":"stored","applied":"none","reason":"no_durable_store"}`)
	row(ask(Published, false), None, None, 200, `{"requested":"published","applied":"none","reason":"no_durable_store"}`)
	// 4: recognised, unmet, required; no store included.
	row(ask(Published, true), Stored, None, 412, `{"requested":"published","applied":"none","max_available":"stored","reason":"durability_required_unmet"}`)
	row(ask(Published, true), None, None, 412, `{"requested":"published","applied":"none","max_available":"none","reason":"durability_required_unmet"}`)
	row(ask(Stored, true), None, None, 412, `{"requested":"stored","applied":"none","max_available":"none","reason":"durability_required_unmet"}`)
	for _, offered := range Levels() {
		// 6 and 7: unknown, best effort and required.
		row(ask("fsync", false), offered, None, 200, `{"requested":"fsync","applied":"none","reason":"unknown_level"}`)
		row(ask("fsync", true), offered, None, 412, `{"requested":"fsync","applied":"none","max_available":"`+string(offered)+`","reason":"unknown_level"}`)
	}
	// 8: duplicate.
	for _, level := range []Level{Stored, Published} {
		wants(t, Case{Marker: ask(level, true), Offered: Published, Problems: Duplicate, InPlace: Stored, Handle: handle}, 409,
			`{"requested":"`+string(level)+`","applied":"none","reason":"duplicate_request_id"}`)
	}
	// Names match exactly.
	for _, level := range []Level{"", "Stored", "stored ", "none\x00"} {
		if a := Decide(Case{Marker: ask(level, true), Offered: Published}); a.Status != 412 || a.Durability.Reason != UnknownLevel {
			t.Errorf("%q: %+v", level, a)
		}
	}
}

// TestR31Unmarked: no marker, no field; nothing is preserved, nothing is unique.
func TestR31Unmarked(t *testing.T) {
	for _, offered := range Levels() {
		wants(t, Case{Offered: offered, Handle: handle}, 200, "")
		wants(t, Case{Offered: offered, Problems: Duplicate, Handle: handle}, 200, "")
		wants(t, Case{Offered: offered, Problems: Unavailable}, 503, "")
		if Provide(nil, offered) != None {
			t.Errorf("a request without marker is preserved where %s is offered", offered)
		}
	}
	wants(t, Case{Marker: &Marker{Level: None}, Offered: Published, Problems: Duplicate}, 200, `{"requested":"none","applied":"none"}`)
	wants(t, Case{Marker: &Marker{Level: "fsync"}, Offered: Published, Problems: Duplicate}, 200,
		`{"requested":"fsync","applied":"none","reason":"unknown_level"}`)
}

// TestR35Order: each problem beats all that follow it, and the levels stand where they stand.
func TestR35Order(t *testing.T) {
	order := []struct {
		problem Problem
		status  int
	}{
		{Unauthenticated, 401}, {TooLarge, 413}, {TooMany, 429}, {Malformed, 400}, {0, 412},
		{Unavailable, 503}, {Duplicate, 409}, {NoHandler, 422}, {Invalid, 422},
	}
	for i, first := range order {
		c := Case{Marker: &Marker{Level: Published, MustHave: true}, Offered: Stored, InPlace: Stored, Handle: handle}
		if i > 4 {
			c.Offered = Published // the twin whose durability is met
		}
		for _, later := range order[i:] {
			c.Problems |= later.problem
		}
		a := Decide(c)
		if a.Status != first.status || a.Performed() {
			t.Errorf("from problem %d on: status %d, want %d", i, a.Status, first.status)
		}
		if a.Durability == nil || a.Durability.Requested != Published || a.Durability.Applied != None {
			t.Errorf("status %d: field %+v", a.Status, a.Durability)
		}
	}
}

// everyCase calls f with every combination of marker, offer, problems and what is in place.
func everyCase(f func(Case)) {
	markers := []*Marker{nil}
	for _, level := range append(Levels(), "fsync") {
		markers = append(markers, &Marker{Level: level}, &Marker{Level: level, MustHave: true})
	}
	for _, marker := range markers {
		for _, offered := range Levels() {
			for _, inPlace := range Levels() {
				for problems := range Invalid << 1 {
					f(Case{Marker: marker, Offered: offered, Problems: problems, InPlace: inPlace, Handle: handle})
				}
			}
		}
	}
}

// TestSection8 holds every MUST and SHOULD of section 8 over every case there is.
func TestSection8(t *testing.T) {
	count := 0
	everyCase(func(c Case) {
		count++
		a := Decide(c)
		if c.Marker == nil {
			if a.Durability != nil || !slices.Contains([]int{200, 400, 401, 413, 422, 429, 503}, a.Status) {
				t.Errorf("%s: %+v: a request without marker is answered as if there were no extension", show(c), a)
			}
			return
		}
		for rule, holds := range section8(c, a) {
			if !holds {
				t.Errorf("%s: %d %+v: broken: %s", show(c), a.Status, a.Durability, rule)
			}
		}
	})
	if count != 9*3*3*256 {
		t.Errorf("%d cases", count)
	}
}

// section8 says of each sentence whether an answer holds it.
func section8(c Case, a Answer) map[string]bool {
	r := a.Durability
	if r == nil {
		return map[string]bool{"never silently discard a durability_request": false}
	}
	unknown := !c.Marker.Level.Recognised()
	known := a.Status == 412 && r.Reason == RequiredUnmet
	return map[string]bool{
		"the request is echoed":                          r.Requested == c.Marker.Level,
		"applied is a concrete level":                    r.Applied.Recognised(),
		"applied is physically in place":                 c.InPlace.AtLeast(r.Applied),
		"committed only with 202, and always":            (r.Committed != "") == (a.Status == 202),
		"max_available only with 412, and always":        (r.MaxAvailable != "") == (a.Status == 412),
		"max_available is the strongest offered":         a.Status != 412 || r.MaxAvailable == c.Offered,
		"a handle exactly where applied or 202":          (r.Handle != "") == (r.Applied != None || a.Status == 202),
		"412 performs nothing":                           a.Status != 412 || r.Applied == None && !a.Performed(),
		"412 only for must_have":                         a.Status != 412 || c.Marker.MustHave,
		"412 at a recognised level: it cannot be met":    !known || !c.Offered.AtLeast(c.Marker.Level) && !unknown,
		"unknown and must_have fails closed":             !unknown || !c.Marker.MustHave || !a.Performed(),
		"unknown and best effort applies none":           !unknown || !a.Performed() || a.Status == 200 && r.Applied == None && r.Reason == UnknownLevel,
		"409 exactly for a duplicate":                    a.Status != 409 || r.Reason == DuplicateID && c.Problems&Duplicate != 0,
		"best effort is not refused for its level":       c.Marker.MustHave || c.Problems != 0 || c.InPlace == None || a.Performed(),
		"202 whenever the outcome is not final":          !a.Performed() || (a.Status == 202) == (Provide(c.Marker, c.Offered) == Published),
		"a performed request had no problem":             !a.Performed() || c.Problems&^Duplicate == 0,
		"what must be had is had or promised":            !a.Performed() || !c.Marker.MustHave || r.Applied.AtLeast(c.Marker.Level) || r.Committed.AtLeast(c.Marker.Level),
		"reasons are the pinned ones":                    slices.Contains([]Reason{"", NoDurableStore, RequiredUnmet, UnknownLevel, DuplicateID}, r.Reason),
		"no_durable_store only where there is none":      r.Reason != NoDurableStore || c.Offered == None && a.Status == 200 && r.Applied == None,
		"refused: nothing in place for it, no handle":    a.Performed() || r.Applied == None && r.Handle == "",
		"a preserved request is never said to be none":   !a.Performed() || Provide(c.Marker, c.Offered) == None || r.Applied.AtLeast(Stored),
		"applied is not more than what was provided":     !a.Performed() || Provide(c.Marker, c.Offered).AtLeast(r.Applied),
		"a promise is not said to be in place":           c.InPlace == Published || r.Applied != Published,
		"the status is one of the contract's statuses":   slices.Contains([]int{200, 202, 400, 401, 409, 412, 413, 422, 429, 503}, a.Status),
		"what is committed is what was asked for, whole": r.Committed == "" || r.Committed == c.Marker.Level,
	}
}

// TestB137RefusedIsNotPreserved: a refusal for durability provides nothing, so that the same request at a level that is
// offered is a first one.
func TestB137RefusedIsNotPreserved(t *testing.T) {
	refused := Case{Marker: &Marker{Level: Published, MustHave: true}, Offered: Stored, Handle: handle}
	wants(t, refused, 412, `{"requested":"published","applied":"none","max_available":"stored","reason":"durability_required_unmet"}`)
	if !Unmet(refused.Marker, refused.Offered) {
		t.Error("not refused before anything is done")
	}
	again := Case{Marker: &Marker{Level: Stored, MustHave: true}, Offered: Stored, InPlace: Stored, Handle: handle}
	wants(t, again, 200, `{"requested":"stored","applied":"stored","handle":"`+handle+`"}`)
}
